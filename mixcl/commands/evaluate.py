"""``mixcl evaluate CHECKPOINT --data cifar10 --protocols knn linear finetune``: run the papers' protocols.

CHECKPOINT is a pretraining checkpoint, a bare backbone (with ``--config``) or ``random``. docs/evaluation.md
describes the protocols, the recipe of each, and how results are stored.
"""

import sys
from argparse import ArgumentParser, Namespace

from mixcl.command_line import WEIGHTS, add_allow_pickle, add_config_option, add_launcher, add_overrides, arguments_of
from mixcl.errors import with_options
from mixcl.recipes.recipe_table import PROTOCOLS

AFTERWARDS = 'the same command continues with what is not finished (with --rerun it starts again)'


def add_options(parser: ArgumentParser) -> None:
    parser.add_argument('checkpoint', help=f"{WEIGHTS}; or 'random' for an untrained backbone")
    parser.add_argument('--data', required=True, metavar='NAME', help='a file of configs/_base_/data/ (in1k), '
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
    add_overrides(parser, 'override values, of every config or of one protocol', '[PROTOCOL.]NAME=VALUE')
    add_allow_pickle(parser)
    add_launcher(parser)


def run(args: Namespace) -> int:
    from mmengine.dist import is_main_process

    from mixcl.apis.evaluating import evaluate
    from mixcl.evaluation.results import table

    rows, folder, failures = evaluate(**arguments_of(args))
    if is_main_process():
        if rows:
            print(f'\n{table(rows)}\n\nstored in {folder / "results.json"} and results.md')
        for failure in failures:
            print(f'error: {with_options(failure)}', file=sys.stderr, flush=True)
    return 1 if failures else 0
