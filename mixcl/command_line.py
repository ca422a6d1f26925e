"""What the parsers of the commands share. Nothing here takes long to import, so that ``--help`` answers at once."""

import os
import sys
from argparse import SUPPRESS, ArgumentParser, Namespace
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


def add_config_option(parser: ArgumentParser, action: str = 'store') -> None:
    """Add ``--config``, which means the same wherever a checkpoint is read."""
    parser.add_argument('--config', action=action, metavar='FILE', help='the config that the checkpoint was trained '
                        'with, in the place of the one in it; what it imports is run')  # fmt: skip
    parser.add_argument('--backbone-config', action=action, dest='config', help=SUPPRESS)  # as it was called


def cpu_cores() -> int:
    """How many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, 'sched_getaffinity') else os.cpu_count() or 1


def command(tool: str) -> str:
    """How people call a file of tools/: as ``mixcl train``, if the present command was called that way."""
    return f'mixcl {tool}' if sys.argv[0].startswith('mixcl ') else f'python tools/{tool}.py'
