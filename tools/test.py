"""Evaluate a checkpoint as its config says (for pretraining configs: kNN accuracy).

``python tools/test.py CONFIG CHECKPOINT`` tests a trained model with its own config.
``python tools/test.py CONFIG --pretrained CHECKPOINT`` runs a protocol that measures the features of a frozen backbone,
by a config that ``tools/evaluate.py`` wrote; 'random' stands for weights that were never trained.
"""

from mixcl.starting import begin

begin(__name__)

import argparse
import json
import os
from pathlib import Path

from mixcl.command_line import OverrideAction
from mixcl.errors import UserError, reported_to_user


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description='Evaluate a checkpoint.')
    parser.add_argument('config', help='config file')
    parser.add_argument('checkpoint', nargs='?', help='checkpoint file of a run of this config')
    parser.add_argument('--pretrained', metavar='CHECKPOINT', help="for frozen features: the backbone, or 'random'")
    parser.add_argument('--encoder', choices=['online', 'target'], help='of --pretrained; default: as the config says')
    parser.add_argument('--work-dir', help='where logs go; default work_dirs/<method>/<config name>')
    parser.add_argument('--out', metavar='FILE', help='write the metrics to this .json file')
    parser.add_argument('--amp', action='store_true', help='bfloat16 autocast, of configs that measure features')
    parser.add_argument('--data-root', metavar='DIR', help='root folder of every data set of the config')
    parser.add_argument('--cfg-options', nargs='+', action=OverrideAction, metavar='NAME=VALUE', help='override values')
    parser.add_argument('--allow-pickle', action='store_true', help='read checkpoints that may run code: trusted ones')
    parser.add_argument('--launcher', choices=['none', 'pytorch', 'slurm', 'mpi'], default='none')
    parser.add_argument('--local-rank', '--local_rank', type=int, default=0, help=argparse.SUPPRESS)
    return parser.parse_args()


if __name__ == '__main__':
    arguments = parse_arguments()  # before the imports that take seconds

from mmengine.config import Config

from mixcl.configuration import check_metric_files
from mixcl.engine.runners.command_options import be_patient, use_pretrained
from mixcl.engine.runners.launch import build_runner, read_config, without_training
from mixcl.engine.runners.processes import use_launcher
from mixcl.engine.runners.work_dir import default_work_dir
from mixcl.files import check_writable, written_whole
from mixcl.weights import allow_pickle


def use_weights(cfg: Config, args: argparse.Namespace) -> None:
    """Let the run load what the command line names.

    Raises:
        UserError: if that is not one thing, or not of the kind that the config's model takes.
    """
    kind = cfg.model.get('type')
    frozen = str(kind).removeprefix('mixcl.') == 'FrozenEncoder'
    unused = (args.checkpoint,) if frozen else (args.pretrained, args.encoder)
    if any(unused) or (args.pretrained if frozen else args.checkpoint) is None:
        wanted = '--pretrained CHECKPOINT' if frozen else 'the CHECKPOINT of a run of it (see tools/train.py)'
        raise UserError(f'{args.config} has model.type={kind!r}: give {wanted}, and no other weights or encoder')
    if frozen:
        use_pretrained(cfg, args.pretrained, args.encoder)
    else:
        cfg.load_from = args.checkpoint


def main(args: argparse.Namespace) -> None:
    os.environ.setdefault('LOCAL_RANK', str(args.local_rank))
    cfg = read_config(args.config, args.cfg_options, args.data_root)
    if cfg.get('test_cfg') is None:
        raise UserError(f'{args.config} has no test_cfg: its data set has no labels to evaluate with')
    if args.out and not args.out.endswith('.json'):
        raise UserError(f'--out takes a .json file, not {args.out!r}')
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
    use_launcher(cfg, args.launcher)
    runner = build_runner(cfg)
    metrics = runner.test()
    if args.out and runner.rank == 0:
        with written_whole(args.out) as file:
            file.write(json.dumps(metrics, indent=2, default=float).encode())
    if runner.rank == 0:
        print(f'everything is in {cfg.work_dir}' + (f', the metrics in {args.out}' if args.out else ''))


if __name__ == '__main__':
    with reported_to_user('nothing is kept, the same command starts again'):
        main(arguments)
