"""``mixcl test CONFIG CHECKPOINT``: evaluate a checkpoint as its config says (for pretraining configs: kNN accuracy).

``mixcl test CONFIG --pretrained CHECKPOINT`` runs a protocol that measures the features of a frozen backbone, from a
config that ``mixcl evaluate`` wrote; 'random' means untrained weights.
"""

import json
from argparse import ArgumentParser, Namespace
from pathlib import Path

from mixcl.command_line import WEIGHTS, add_allow_pickle, add_data_root, add_launcher, add_overrides, arguments_of
from mixcl.errors import UserError

AFTERWARDS = 'nothing is kept, the same command starts again'


def add_options(parser: ArgumentParser) -> None:
    parser.add_argument('config', help='config file')
    parser.add_argument('checkpoint', nargs='?', help='checkpoint file of a run of this config')
    parser.add_argument('--pretrained', metavar='WEIGHTS', help=f"for frozen features: {WEIGHTS}; or 'random'")
    parser.add_argument('--encoder', choices=['online', 'target'], help='of --pretrained; default: as the config says')
    parser.add_argument('--work-dir', help='where logs go; default work_dirs/<method>/<config name>')
    parser.add_argument('--out', metavar='FILE', help='write the metrics to this .json file')
    parser.add_argument('--amp', action='store_true', help='bfloat16 autocast, of configs that measure features')
    add_data_root(parser)
    add_overrides(parser)
    add_allow_pickle(parser)
    add_launcher(parser)


def run(args: Namespace) -> None:
    if args.out and not args.out.endswith('.json'):
        raise UserError(f'--out takes a .json file, not {args.out!r}')
    from mixcl.engine.runners.launch import build_runner
    from mixcl.files import check_writable, written_whole
    from mixcl.recipes.prepared import Options, prepared_to_test

    options = arguments_of(args)
    config, checkpoint, out = (options.pop(name) for name in ('config', 'checkpoint', 'out'))
    if out:
        check_writable(Path(out).parent, '--out')
    cfg = prepared_to_test(config, checkpoint, Options(**options))
    runner = build_runner(cfg)
    metrics = runner.test()
    if runner.rank == 0:
        if out:
            with written_whole(out) as file:
                file.write(json.dumps(metrics, indent=2, default=float).encode())
        print(f'everything is in {cfg.work_dir}' + (f', the metrics in {out}' if out else ''))
