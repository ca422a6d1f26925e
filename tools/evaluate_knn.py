"""kNN accuracy of a pretraining checkpoint, or of a randomly initialised encoder.

``python tools/evaluate_knn.py CONFIG CHECKPOINT`` or ``... CONFIG random``; the protocol is that of PatchMix and DINO:
features before the head, cosine similarity, votes weighted by exp(similarity / temperature).
"""

import argparse
import os
from pathlib import Path

from mmengine.config import Config, DictAction
from mmengine.fileio import dump
from mmengine.model import is_model_wrapper

from mixcl.engine.launch import build_runner, default_work_dir, read_config, use_launcher
from mixcl.errors import UserError, reported_to_user


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description='kNN accuracy of a pretraining checkpoint.')
    parser.add_argument('config', help='pretraining config')
    parser.add_argument('checkpoint', help="checkpoint file, or 'random' for an untrained encoder")
    parser.add_argument('--encoder', choices=['online', 'target', 'all'], default='all')
    parser.add_argument('--neighbours', type=int, nargs='+', default=[10, 20, 100, 200], metavar='K')
    parser.add_argument('--temperature', type=float, default=0.07)
    parser.add_argument('--work-dir', help='where logs go; default work_dirs/<config name>')
    parser.add_argument('--out', metavar='FILE', help='write protocol and accuracies to this .json file')
    parser.add_argument('--data-root', metavar='DIR', help='root folder of every data set of the config')
    parser.add_argument('--cfg-options', nargs='+', action=DictAction, metavar='NAME=VALUE', help='override values')
    parser.add_argument('--launcher', choices=['none', 'pytorch', 'slurm', 'mpi'], default='none')
    parser.add_argument('--local-rank', '--local_rank', type=int, default=0, help=argparse.SUPPRESS)
    return parser.parse_args()


def configure(cfg: Config, args: argparse.Namespace) -> None:
    """Put the protocol of the command line into the config's test section."""
    if args.out and not args.out.endswith('.json'):
        raise UserError(f'--out takes a .json file, not {args.out!r}')
    if cfg.get('test_cfg') is None:
        raise UserError(f'{args.config} has no test_cfg: its data set has no labels, which kNN needs')
    cfg.test_evaluator = dict(type='KNNAccuracy', neighbours=tuple(args.neighbours), temperature=args.temperature)
    cfg.test_cfg.encoders = None if args.encoder == 'all' else (args.encoder,)
    cfg.work_dir = args.work_dir or default_work_dir(cfg, args.config)
    cfg.load_from = None if args.checkpoint == 'random' else args.checkpoint


def print_table(metrics: dict[str, float]) -> None:
    """One line per encoder and k, with top-1 and top-5 accuracy in percent."""
    print(f'\n{"encoder":10s}{"k":>6s}{"top-1":>9s}{"top-5":>9s}')
    for name, top1 in metrics.items():
        if name.endswith('_top1'):
            encoder, neighbours = name.removesuffix('_top1').rsplit('_knn', 1)
            print(f'{encoder:10s}{neighbours:>6s}{top1:9.2f}{metrics[name.replace("_top1", "_top5")]:9.2f}')


def main() -> None:
    args = parse_arguments()
    os.environ.setdefault('LOCAL_RANK', str(args.local_rank))
    cfg = read_config(args.config, args.cfg_options, args.data_root)
    configure(cfg, args)
    use_launcher(cfg, args.launcher)
    runner = build_runner(cfg)
    if args.checkpoint == 'random':
        model = runner.model.module if is_model_wrapper(runner.model) else runner.model
        model.init_weights()
    metrics = runner.test()
    if runner.rank == 0:
        print_table(metrics)
        if args.out:
            protocol = dict(neighbours=args.neighbours, temperature=args.temperature, feature='backbone output')
            Path(args.out).parent.mkdir(parents=True, exist_ok=True)
            dump(dict(checkpoint=args.checkpoint, protocol=protocol, accuracy=metrics), args.out, indent=2)


if __name__ == '__main__':
    with reported_to_user():
        main()
