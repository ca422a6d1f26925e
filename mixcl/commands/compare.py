"""``mixcl compare patchmix mocov3 --data folder:photos``: which method is better on these images, or is it noise?

Repeating the command does what is not finished. docs/compare.md explains the tables.
"""

from argparse import ArgumentParser, Namespace

from mixcl.command_line import add_data_root, positive

AFTERWARDS = 'the same command continues with what is not finished'

EXAMPLES = """
examples:
  mixcl compare patchmix/vit-xs4_digits mocov3/vit-xs4_digits --seeds 3 --epochs 50 --out compared
  mixcl compare patchmix mocov3 'mocov3 model.objective.temperature=0.4' --data folder:photos --out compared
  mixcl compare table.py --out compared --jobs 4
"""


def add_options(parser: ArgumentParser) -> None:
    parser.add_argument('runs', nargs='+', metavar='RUN', help='a method or config, with overrides in the same quoted '
                        'word; the others are compared with the first. Or one file')  # fmt: skip
    parser.add_argument('--out', default='compared', metavar='FOLDER', help='runs, results, page; default compared')
    parser.add_argument('--seeds', type=positive, metavar='N', help='default 3')
    parser.add_argument('--jobs', type=positive, default=1, metavar='N', help='runs at the same time; default 1')
    parser.add_argument(
        '--data', metavar='FOLDER', help="images to train on, as for mixcl pretrain; default the configs'"
    )
    add_data_root(parser)
    parser.add_argument('--evaluated', metavar='DATA', help='what is measured on; default the images of the first run')
    parser.add_argument('--model', metavar='NAME', help="of all runs, such as timm:resnet18; default the methods'")
    parser.add_argument('--image-size', type=positive, metavar='PIXELS')
    parser.add_argument('--epochs', type=positive, metavar='N', help='of the first run; see --equal')
    parser.add_argument('--batch-size', type=positive, metavar='IMAGES')
    parser.add_argument('--equal', choices=['steps', 'passes', 'time', 'epochs'], help='what all runs have as much of '
                        'as the first: optimiser steps (default), encoder passes, seconds of training')  # fmt: skip
    parser.add_argument('--measures', nargs='+', metavar='PROTOCOL', help='of mixcl evaluate; default few_labels '
                        'linear_fast knn')  # fmt: skip
    parser.add_argument('--named', metavar='PROTOCOL', help='the measure of the first verdict; default few_labels')
    parser.add_argument(
        '--baselines', nargs='*', metavar='NAME', help='default pixels pca histogram random; also isomap scratch'
    )


def run(args: Namespace) -> int:
    from mixcl.comparison.comparing import compare

    compared = compare(**vars(args))
    print(f'{compared.text}\nTo look at in a browser: {compared.folder / "compare.html"}')
    return int(bool(compared.failures))
