"""Evaluate a checkpoint as its config says (for pretraining configs: kNN accuracy).

``python tools/test.py CONFIG CHECKPOINT``
"""

import argparse
import os

from mmengine.config import DictAction
from mmengine.fileio import dump

from mixcl.engine.launch import build_runner, default_work_dir, read_config, use_launcher
from mixcl.errors import UserError, reported_to_user


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description='Evaluate a checkpoint.')
    parser.add_argument('config', help='config file')
    parser.add_argument('checkpoint', help='checkpoint file')
    parser.add_argument('--work-dir', help='where logs go; default work_dirs/<config name>')
    parser.add_argument('--out', metavar='FILE', help='write the metrics to this .json file')
    parser.add_argument('--data-root', metavar='DIR', help='root folder of every data set of the config')
    parser.add_argument('--cfg-options', nargs='+', action=DictAction, metavar='NAME=VALUE', help='override values')
    parser.add_argument('--launcher', choices=['none', 'pytorch', 'slurm', 'mpi'], default='none')
    parser.add_argument('--local-rank', '--local_rank', type=int, default=0, help=argparse.SUPPRESS)
    return parser.parse_args()


def main() -> None:
    args = parse_arguments()
    os.environ.setdefault('LOCAL_RANK', str(args.local_rank))
    cfg = read_config(args.config, args.cfg_options, args.data_root)
    if cfg.get('test_cfg') is None:
        raise UserError(f'{args.config} has no test_cfg: its data set has no labels to evaluate with')
    if args.out and not args.out.endswith('.json'):
        raise UserError(f'--out takes a .json file, not {args.out!r}')
    cfg.work_dir = args.work_dir or default_work_dir(cfg, args.config)
    cfg.load_from = args.checkpoint
    use_launcher(cfg, args.launcher)
    runner = build_runner(cfg)
    metrics = runner.test()
    if args.out and runner.rank == 0:
        dump(metrics, args.out, indent=2)


if __name__ == '__main__':
    with reported_to_user():
        main()
