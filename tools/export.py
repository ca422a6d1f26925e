"""The backbone in a checkpoint, as timm, torchvision, Hugging Face or ONNX load it.

``python tools/export.py CHECKPOINT --to timm --out FOLDER``

It prints the lines that load the folder; they were tried, and gave the same features.
"""

from mixcl.starting import begin

begin(__name__)

import argparse

from mixcl.command_line import add_config_option
from mixcl.errors import reported_to_user

FORMATS = ('timm', 'torchvision', 'huggingface', 'onnx')


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description='Write a pretrained backbone as another library loads it.')
    parser.add_argument('checkpoint', help='file of a pretraining, of a classifier, or of a backbone')
    parser.add_argument('--to', required=True, choices=FORMATS, help='what loads it')
    parser.add_argument('--out', required=True, metavar='PATH', help='folder to write; must be new or empty')
    parser.add_argument('--encoder', choices=['online', 'target'], help="default: that of the method's linear probe")
    add_config_option(parser)
    parser.add_argument('--allow-pickle', action='store_true', help='read files that may run code')
    return parser.parse_args()


if __name__ == '__main__':
    arguments = parse_arguments()  # before the imports that take seconds


from mixcl.apis.export import export
from mixcl.weights import allow_pickle


def main(args: argparse.Namespace) -> None:
    if args.allow_pickle:
        allow_pickle()
    export(args.checkpoint, args.to, args.out, args.encoder, args.config)


if __name__ == '__main__':
    with reported_to_user('the same command starts anew'):
        main(arguments)
