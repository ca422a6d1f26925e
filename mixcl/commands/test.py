"""``mixcl test CONFIG CHECKPOINT``: evaluate a checkpoint as its config says (for pretraining configs: kNN accuracy).

``mixcl test CONFIG --pretrained CHECKPOINT`` runs a protocol that measures the features of a frozen backbone, by a
config that ``mixcl evaluate`` wrote; 'random' stands for weights that were never trained.
"""

import json
from argparse import ArgumentParser, Namespace
from pathlib import Path
from typing import TYPE_CHECKING

from mixcl.command_line import add_allow_pickle, add_data_root, add_launcher, add_overrides, arguments_of
from mixcl.errors import UserError

if TYPE_CHECKING:
    from mmengine.config import Config

AFTERWARDS = 'nothing is kept, the same command starts again'


def add_options(parser: ArgumentParser) -> None:
    parser.add_argument('config', help='config file')
    parser.add_argument('checkpoint', nargs='?', help='checkpoint file of a run of this config')
    parser.add_argument('--pretrained', metavar='CHECKPOINT', help="for frozen features: the backbone, or 'random'")
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
    from mixcl.configuration import check_metric_files
    from mixcl.engine.runners.command_options import be_patient
    from mixcl.engine.runners.launch import build_runner, read_config, without_training
    from mixcl.engine.runners.processes import use_launcher
    from mixcl.engine.runners.work_dir import default_work_dir
    from mixcl.files import check_writable, written_whole
    from mixcl.weights import allow_pickle

    launcher = arguments_of(args)['launcher']
    cfg = read_config(args.config, args.cfg_options, args.data_root)
    if cfg.get('test_cfg') is None:
        raise UserError(f'{args.config} has no test_cfg: its data set has no labels to evaluate with')
    if args.out:
        check_writable(Path(args.out).parent, '--out')
    cfg.work_dir = args.work_dir or cfg.get('work_dir') or default_work_dir(args.config)
    without_training(cfg)
    if args.allow_pickle:
        allow_pickle()
    use_weights(cfg, args)
    if args.amp:
        if str(cfg.test_cfg.get('type')).removeprefix('mixcl.') != 'FeatureLoop':
            raise UserError(
                f'--amp is for configs that measure features, but {args.config} has test_cfg of another type'
            )
        cfg.test_cfg.amp = True
    be_patient(cfg)
    check_metric_files(cfg, 'test_evaluator')
    use_launcher(cfg, launcher)
    runner = build_runner(cfg)
    metrics = runner.test()
    if args.out and runner.rank == 0:
        with written_whole(args.out) as file:
            file.write(json.dumps(metrics, indent=2, default=float).encode())
    if runner.rank == 0:
        print(f'everything is in {cfg.work_dir}' + (f', the metrics in {args.out}' if args.out else ''))


def use_weights(cfg: 'Config', args: Namespace) -> None:
    """Let the run load what the command line names.

    Raises:
        UserError: if that is not one thing, or not of the kind that the config's model takes.
    """
    from mixcl.engine.runners.command_options import use_pretrained

    kind = cfg.model.get('type')
    frozen = str(kind).removeprefix('mixcl.') == 'FrozenEncoder'
    unused = (args.checkpoint,) if frozen else (args.pretrained, args.encoder)
    if any(unused) or (args.pretrained if frozen else args.checkpoint) is None:
        wanted = '--pretrained CHECKPOINT' if frozen else 'the CHECKPOINT of a run of it (see mixcl train)'
        raise UserError(f'{args.config} has model.type={kind!r}: give {wanted}, and no other weights or encoder')
    if frozen:
        use_pretrained(cfg, args.pretrained, args.encoder)
    else:
        cfg.load_from = args.checkpoint
