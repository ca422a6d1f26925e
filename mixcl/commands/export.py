"""``mixcl export CHECKPOINT --to timm --out FOLDER``: write a checkpoint's backbone as another library loads it.

It prints the lines that load the folder, checked for equal features if the library is installed.
"""

from argparse import ArgumentParser, Namespace

from mixcl.command_line import WEIGHTS, add_allow_pickle, add_config_option

AFTERWARDS = 'the same command starts anew'

TARGETS = ('timm', 'torchvision', 'huggingface', 'onnx')


def add_options(parser: ArgumentParser) -> None:
    parser.add_argument('checkpoint', help=WEIGHTS)
    parser.add_argument('--to', required=True, choices=TARGETS, help='what loads it')
    parser.add_argument('--out', required=True, metavar='PATH', help='folder to write; must be new or empty')
    parser.add_argument('--push', metavar='OWNER/NAME', help='upload the folder (for timm) to this hub repository, '
                        'with the account of `hf auth login`; a new one is private')  # fmt: skip
    parser.add_argument('--encoder', choices=['online', 'target'], help="default: that of the method's linear probe")
    add_config_option(parser)
    add_allow_pickle(parser)


def run(args: Namespace) -> None:
    from mixcl.apis.export import export

    export(args.checkpoint, args.to, args.out, args.encoder, args.config, args.push)
