"""Options that several commands share. Imports here must be fast, so that ``--help`` answers at once."""

import os
from argparse import SUPPRESS, ArgumentParser, Namespace
from typing import Any

from mmengine.config import DictAction

WEIGHTS = "a run's folder or checkpoint, a file or folder of weights, timm:NAME or hf-hub:OWNER/NAME"
"""What commands take where they read a backbone; see :func:`mixcl.weights.weights_named`."""


class OverrideAction(DictAction):
    """mmengine's action for ``NAME=VALUE ...``, with one error line instead of a traceback for what it cannot parse."""

    def __call__(self, parser: ArgumentParser, namespace: Namespace, values: list[str], *rest: Any) -> None:
        try:
            super().__call__(parser, namespace, values, *rest)
        except (ValueError, AssertionError, IndexError, RecursionError):
            parser.exit(
                2,
                f'error: {self.option_strings[0]} {" ".join(values)} cannot be read; write NAME=VALUE, where a value '
                'is a number, a string, a [list] or a (tuple), and set an entry of a dict by its dotted name, such as '
                'model.mixer.num_mix\n',
            )


def positive(text: str) -> int:
    """Parse a whole number of at least 1; the ``type`` of an option."""
    if int(text) < 1:
        raise ValueError
    return int(text)


def add_config_option(parser: ArgumentParser, action: str = 'store') -> None:
    """Add ``--config``, which means the same wherever a checkpoint is read."""
    parser.add_argument('--config', action=action, metavar='FILE', help='the config that the checkpoint was trained '
                        'with, in place of the one in it; modules that it imports are run')  # fmt: skip
    parser.add_argument('--backbone-config', action=action, dest='config', help=SUPPRESS)  # its former name


def add_overrides(parser: ArgumentParser, help: str = 'override values', metavar: str = 'NAME=VALUE') -> None:
    """Add ``--cfg-options``."""
    parser.add_argument('--cfg-options', nargs='+', action=OverrideAction, metavar=metavar, help=help)


def add_data_root(parser: ArgumentParser, help: str = 'root folder of every data set of the config') -> None:
    """Add ``--data-root``."""
    parser.add_argument('--data-root', metavar='DIR', help=help)


def add_data_settings(parser: ArgumentParser) -> None:
    """Add ``--no-labels`` and ``--background``, about the images of ``--data``."""
    parser.add_argument('--no-labels', dest='labels', action='store_false', help='labels of --data mean nothing')
    parser.add_argument('--background', nargs=3, type=int, metavar=('R', 'G', 'B'),
                        help='what images with transparency are shown on; default 255 255 255, white')  # fmt: skip


def add_allow_pickle(parser: ArgumentParser) -> None:
    """Add ``--allow-pickle``, which :func:`mixcl.console.run` applies for all commands."""
    parser.add_argument(
        '--allow-pickle', action='store_true', help='read checkpoints that can run code; only for files that you trust'
    )


def add_launcher(parser: ArgumentParser) -> None:
    """Add ``--launcher``, and the option by which old launchers tell a process its local rank."""
    parser.add_argument('--launcher', choices=['none', 'pytorch', 'slurm'], default='none')
    parser.add_argument('--local-rank', '--local_rank', type=int, default=0, help=SUPPRESS)


def arguments_of(args: Namespace) -> dict[str, Any]:
    """Return the options of a command with :func:`add_launcher` as arguments of the function that does its work."""
    options = dict(vars(args))
    os.environ.setdefault('LOCAL_RANK', str(options.pop('local_rank')))
    options.pop('allow_pickle', None)  # mixcl.console.run has applied it
    return options
