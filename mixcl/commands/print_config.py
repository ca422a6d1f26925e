"""``mixcl print-config patchmix/vit-s16_in1k --origin``: print a config merged with all that it inherits from.

Without ``--origin`` the output is itself a config: saved to a file, it trains the same.
"""

import signal
from argparse import ArgumentParser, Namespace

from mixcl.command_line import add_data_root, add_overrides, positive


def add_options(parser: ArgumentParser) -> None:
    parser.add_argument('config', help='config file')
    parser.add_argument('--origin', action='store_true', help='write behind each value the file that it comes from')
    parser.add_argument('--processes', type=positive, default=1, help='on how many it runs, which share the batch')
    add_data_root(parser)
    add_overrides(parser)


def run(args: Namespace) -> None:
    from mixcl.recipes.difference import origins
    from mixcl.recipes.prepared import prepared

    signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # `mixcl print-config ... | head` closes the pipe
    cfg = prepared(args.config, cfg_options=args.cfg_options, data_root=args.data_root, processes=args.processes)
    if args.origin:
        given = [*(args.cfg_options or ()), *['data.images.data_root'] * bool(args.data_root)]
        print('\n'.join(origins(args.config, cfg.to_dict(), given)))
    else:
        print(cfg.pretty_text)
