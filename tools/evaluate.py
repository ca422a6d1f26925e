"""Evaluate a backbone by the papers' protocols, and print a table with the papers' numbers beside ours.

``python tools/evaluate.py CHECKPOINT --data cifar10 --protocols knn linear finetune``

CHECKPOINT is a pretraining checkpoint, a bare backbone (with ``--config``) or ``random``. What the protocols
are, which recipe each takes and how results are stored: docs/evaluation.md.
"""

from mixcl.starting import begin

begin(__name__)

import argparse
import os
import sys

from mixcl.command_line import OverrideAction, add_config_option
from mixcl.errors import reported_to_user
from mixcl.evaluation.recipes import PROTOCOLS


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Evaluate a backbone by the papers' protocols.")
    parser.add_argument('checkpoint', help="checkpoint file, or 'random' for an untrained backbone")
    parser.add_argument('--data', required=True, metavar='NAME', help='a file of configs/evaluation/datasets/ (in1k), '
                        'or your own images: folder:PATH, list:PATH.csv, hf:PATH, tar:PATTERN')  # fmt: skip
    parser.add_argument('--protocols', nargs='+', choices=PROTOCOLS, required=True, metavar='PROTOCOL',
                        help=f'one or more of {", ".join(PROTOCOLS)}')  # fmt: skip
    add_config_option(parser)
    parser.add_argument('--recipe-config', nargs='+', default=[], metavar='FILE',
                        help='recipes or whole configs for their protocols, instead of those chosen')  # fmt: skip
    parser.add_argument('--encoder', choices=['online', 'target', 'all'], help='by default as the protocol says')
    parser.add_argument('--recipe', metavar='NAME', help='by name, such as patchmix or 1percent')
    parser.add_argument('--work-dir', metavar='DIR', help='logs and checkpoints; default work_dirs/evaluation/...')
    parser.add_argument('--out', metavar='DIR', help='results.json and results.md; default as --work-dir')
    parser.add_argument('--data-root', nargs='+', default=[], metavar='[NAME=]DIR',
                        help='folder of the data set, or of another one by its name: voc07=DIR')  # fmt: skip
    parser.add_argument('--dry-run', action='store_true', help='check everything and write the configs, no more')
    parser.add_argument('--rerun', action='store_true', help='evaluate again what is finished')
    parser.add_argument('--amp', action='store_true', help='train under bfloat16 autocast; features stay in float32')
    parser.add_argument('--cfg-options', nargs='+', action=OverrideAction, default={}, metavar='[PROTOCOL.]NAME=VALUE',
                        help='override values, of every config or of one protocol')  # fmt: skip
    parser.add_argument('--allow-pickle', action='store_true', help='read checkpoints that may run code: trusted ones')
    parser.add_argument('--launcher', choices=['none', 'pytorch', 'slurm', 'mpi'], default='none')
    parser.add_argument('--local-rank', '--local_rank', type=int, default=0, help=argparse.SUPPRESS)
    return parser.parse_args()


if __name__ == '__main__':
    arguments = parse_arguments()  # before the imports that take seconds

from mixcl.apis.evaluating import evaluate


def main(args: argparse.Namespace) -> None:
    options = dict(vars(args))
    os.environ.setdefault('LOCAL_RANK', str(options.pop('local_rank')))
    sys.exit(1 if evaluate(**options).failures else 0)


if __name__ == '__main__':
    with reported_to_user('the same command continues with what is not finished'):
        main(arguments)
