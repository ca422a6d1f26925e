"""What the parsers of the commands share. Nothing here takes long to import, so that ``--help`` answers at once."""

from argparse import ArgumentParser, Namespace
from typing import Any

from mmengine.config import DictAction


class OverrideAction(DictAction):
    """``NAME=VALUE ...`` on the command line; mmengine's action, which ends in a traceback where it cannot read."""

    def __call__(self, parser: ArgumentParser, namespace: Namespace, values: list[str], *rest: Any) -> None:
        try:
            super().__call__(parser, namespace, values, *rest)
        except (ValueError, AssertionError, IndexError, RecursionError):
            parser.exit(
                2,
                f'error: {self.option_strings[0]} {" ".join(values)} cannot be read; write NAME=VALUE, where a value '
                'is a number, a text, a [list] or a (tuple), and set the parts of a dict by names such as '
                'model.mixer.num_mix\n',
            )
