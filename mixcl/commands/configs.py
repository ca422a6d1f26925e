"""``mixcl configs`` or ``mixcl configs 'patchmix/*cifar*'``: list the configs that come with mixcl."""

import signal
from argparse import ArgumentParser, Namespace

from mixcl.errors import UserError
from mixcl.shipped import known_configs


def add_options(parser: ArgumentParser) -> None:
    parser.add_argument('pattern', nargs='?', default='*', help="part of a name, or such as '*/vit-s16_in1k*'")


def run(args: Namespace) -> None:
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # `mixcl configs | head` closes the pipe
    found = known_configs(args.pattern)
    if not found:
        raise UserError(f'no config matches {args.pattern!r}; leave the pattern out to see all')
    width = max(map(len, found))
    for name, path in found.items():
        print(f'{name:{width}}  {path.read_text(encoding="utf-8").partition(chr(10))[0].lstrip("# ")}')
