"""Kill a whole training again and again, resume it each time, and compare its result with an undisturbed run's.

``python tools/reliability/kill_training.py --kills 20``: the weights must be the same, bit by bit.
"""

import argparse
import copy
import multiprocessing
import random
import time
from multiprocessing.sharedctypes import Synchronized
from pathlib import Path
from typing import Any

CONFIG = Path(__file__).parents[2] / 'configs/patchmix/vit-xs4_digits.py'


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description='Kill and resume a training, and compare its weights.')
    parser.add_argument('--config', default=str(CONFIG), help='pretraining config')
    parser.add_argument('--kills', type=int, default=20)
    parser.add_argument('--epochs', type=int, default=20)
    parser.add_argument('--num-workers', type=int, default=2, help='of the disturbed run; the other has none')
    parser.add_argument('--seed', type=int, default=0, help='of the moments of the kills')
    parser.add_argument('--work-dir', default='work_dirs/kill_training')
    return parser.parse_args()


if __name__ == '__main__':
    arguments = parse_arguments()  # before the imports that take seconds

import torch
from mmengine.hooks import Hook
from mmengine.runner import Runner

from mixcl.engine.runners.launch import build_runner
from mixcl.recipes.prepared import prepared
from mixcl.weights import newest_checkpoint, read_checkpoint

SAVING_INTERVAL = 3
fork = multiprocessing.get_context('fork')  # a forked process needs no imports of its own


class StepCounter(Hook):
    """Hook that tells another process how many steps this one has taken."""

    def __init__(self, steps: Synchronized) -> None:
        self.steps = steps

    def state_dict(self) -> dict:
        return {}  # of this process alone

    def load_state_dict(self, state: dict) -> None:
        pass

    def after_train_iter(self, runner: Runner, batch_idx: int, **kwargs: Any) -> None:
        self.steps.value += 1


def train(args: argparse.Namespace, work_dir: Path, workers: int, steps: Synchronized) -> None:
    """Train with automatic resuming, without evaluation and with a short log."""
    checkpoints = dict(by_epoch=False, interval=SAVING_INTERVAL)
    overrides = {'schedule.epochs': args.epochs, 'train_dataloader.num_workers': workers}
    cfg = copy.deepcopy(
        prepared(
            args.config, cfg_options=overrides | {f'default_hooks.checkpoint.{k}': v for k, v in checkpoints.items()}
        )
    )
    cfg.val_cfg = cfg.val_dataloader = cfg.val_evaluator = None
    cfg.work_dir, cfg.resume, cfg.log_level = str(work_dir), True, 'ERROR'
    runner = build_runner(cfg)
    runner.register_hook(StepCounter(steps))
    runner.train()


def was_killed(args: argparse.Namespace, work_dir: Path, workers: int, last: float = float('inf')) -> bool:
    """Train in another process, kill it a moment after ``last`` steps, and return whether it was still running.

    Raises:
        RuntimeError: if the process failed by itself.
    """
    steps = fork.Value('i', 0)
    process = fork.Process(target=train, args=(args, work_dir, workers, steps))
    process.start()
    while process.is_alive() and steps.value < last:
        time.sleep(0.001)
    time.sleep(random.uniform(0, 0.2))
    killed = process.is_alive()
    process.kill()
    process.join()
    if not killed and process.exitcode != 0:
        raise RuntimeError(f'the run failed with status {process.exitcode}')
    return killed


def end_of(work_dir: Path) -> dict:
    """Read the newest checkpoint."""
    path = newest_checkpoint(work_dir)
    if path is None:
        raise RuntimeError(f'no checkpoint was left in {work_dir}')
    return read_checkpoint(path)


def main(args: argparse.Namespace) -> None:
    random.seed(args.seed)
    undisturbed, disturbed = Path(args.work_dir, 'undisturbed'), Path(args.work_dir, 'disturbed')
    was_killed(args, undisturbed, 0)
    expected = end_of(undisturbed)
    # Enough steps to make progress between the kills, few enough for all kills to come before the end.
    length = expected['meta']['iter']
    most = max(SAVING_INTERVAL + 1, length // (args.kills + 1))
    for kill in range(args.kills):
        if not was_killed(args, disturbed, args.num_workers, random.randint(1, most)):
            raise RuntimeError(f'the training ended after {kill} kills; use more --epochs')
        print(f'kill {kill + 1}', flush=True)
    was_killed(args, disturbed, args.num_workers)
    found = end_of(disturbed)
    weights = expected['state_dict']
    different = [name for name, tensor in weights.items() if not torch.equal(tensor, found['state_dict'][name])]
    if different or found['meta']['iter'] != length:
        raise RuntimeError(f'{len(different)} of {len(weights)} tensors differ: {different[:3]}')
    print(
        f'{args.kills} kills in {length} steps; all {len(weights)} tensors of weights and buffers '
        'equal those of the undisturbed run'
    )


if __name__ == '__main__':
    main(arguments)
