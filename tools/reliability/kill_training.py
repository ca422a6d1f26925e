"""Kill a whole training again and again, resume it each time, and compare its end with that of an undisturbed run.

``python tools/reliability/kill_training.py --kills 20``: the weights must be the same, bit by bit.
"""

import argparse
import random
import time
from collections.abc import Callable
from pathlib import Path

CONFIG = Path(__file__).parents[2] / 'configs/patchmix/vit-xs4_digits.py'


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description='Kill and resume a training, and compare its weights.')
    parser.add_argument('--config', default=str(CONFIG), help='pretraining config')
    parser.add_argument('--kills', type=int, default=20)
    parser.add_argument('--epochs', type=int, default=20)
    parser.add_argument('--workers', type=int, default=2, help='data workers of the disturbed run; the other has none')
    parser.add_argument('--seed', type=int, default=0, help='of the moments of the kills')
    parser.add_argument('--work-dir', default='work_dirs/kill_training')
    return parser.parse_args()


if __name__ == '__main__':
    arguments = parse_arguments()  # before the imports that take seconds

import torch
from killing import newest_of, quiet_config, run_and_kill
from mmengine.config import Config

from mixcl.weights import read_checkpoint

SAVING_INTERVAL = 3


def config(args: argparse.Namespace, work_dir: Path, workers: int) -> Config:
    overrides = {
        'train_cfg.max_epochs': args.epochs,
        'train_dataloader.num_workers': workers,
        'default_hooks.checkpoint.by_epoch': False,
        'default_hooks.checkpoint.interval': SAVING_INTERVAL,
    }
    return quiet_config(args.config, overrides, work_dir)


def never(steps: int) -> bool:
    return False


def after_some_steps(most: int, moments: random.Random) -> Callable[[int], bool]:
    """Say yes after a random number of steps, and a moment."""
    last_step, delay = moments.randint(1, most), moments.uniform(0, 0.2)

    def ready(steps: int) -> bool:
        if steps < last_step:
            return False
        time.sleep(delay)
        return True

    return ready


def main(args: argparse.Namespace) -> None:
    work_dir, moments = Path(args.work_dir), random.Random(args.seed)
    undisturbed, disturbed = work_dir / 'undisturbed', work_dir / 'disturbed'
    run_and_kill(lambda: config(args, undisturbed, 0), never)
    expected = read_checkpoint(newest_of(undisturbed))
    # So many that it gets on between the kills, which still end before the training does.
    length = expected['meta']['iter']
    most = max(SAVING_INTERVAL + 1, length // (args.kills + 1))
    for kill in range(args.kills):
        if not run_and_kill(lambda: config(args, disturbed, args.workers), after_some_steps(most, moments)):
            raise RuntimeError(f'the training ended after {kill} kills; use more --epochs')
        print(f'kill {kill + 1}', flush=True)
    run_and_kill(lambda: config(args, disturbed, args.workers), never)
    found = read_checkpoint(newest_of(disturbed))
    weights = expected['state_dict']
    different = [name for name, tensor in weights.items() if not torch.equal(tensor, found['state_dict'][name])]
    if different or found['meta']['iter'] != expected['meta']['iter']:
        raise RuntimeError(f'{len(different)} of {len(weights)} tensors differ: {different[:3]}')
    print(
        f'{args.kills} kills in {length} steps; all {len(weights)} tensors of weights and buffers '
        'equal those of the undisturbed run'
    )


if __name__ == '__main__':
    main(arguments)
