"""Print a config as it resolves: what all files that it inherits from and the command line say together.

``python tools/print_config.py configs/patchmix/vit-s16_in1k.py --origin``

The output is a config itself: saved to a file, it trains the same.
"""

from mixcl.starting import begin

begin(__name__)

import argparse
import signal

from mixcl.command_line import OverrideAction
from mixcl.errors import reported_to_user


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description='Print a config as it resolves.')
    parser.add_argument('config', help='config file')
    parser.add_argument('--origin', action='store_true', help='write behind each value the file that it comes from')
    parser.add_argument('--data-root', metavar='DIR', help='root folder of every data set of the config')
    parser.add_argument('--cfg-options', nargs='+', action=OverrideAction, metavar='NAME=VALUE', help='override values')
    return parser.parse_args()


if __name__ == '__main__':
    arguments = parse_arguments()  # before the imports that take seconds


from mixcl.configuration.origin import as_file, origins
from mixcl.engine.runners.launch import read_config


def main(args: argparse.Namespace) -> None:
    cfg = read_config(args.config, args.cfg_options, args.data_root)
    print(as_file(cfg, origins(args.config, cfg.to_dict()) if args.origin else None), end='')


if __name__ == '__main__':
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # `mixcl print-config ... | head` closes the pipe
    with reported_to_user():
        main(arguments)
