"""List the configs that come with mixcl: ``mixcl configs`` or ``mixcl configs 'patchmix/*cifar*'``."""

from mixcl.starting import begin

begin(__name__)

import argparse
import signal

from mixcl.errors import UserError, reported_to_user
from mixcl.shipped import known_configs


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description='List the configs that come with mixcl.')
    parser.add_argument('pattern', nargs='?', default='*', help="part of a name, or such as '*/vit-s16_in1k*'")
    return parser.parse_args()


def main(args: argparse.Namespace) -> None:
    found = known_configs(args.pattern)
    if not found:
        raise UserError(f'no config matches {args.pattern!r}; leave the pattern out to see all')
    width = max(map(len, found))
    for name, path in found.items():
        print(f'{name:{width}}  {path.read_text(encoding="utf-8").partition(chr(10))[0].lstrip("# ")}')


if __name__ == '__main__':
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # `mixcl configs | head` closes the pipe
    with reported_to_user():
        main(parse_arguments())
