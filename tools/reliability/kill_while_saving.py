"""Kill a run again and again while it writes checkpoints, and look at what is left on the disk.

``python tools/reliability/kill_while_saving.py --kills 50``: a run writes a checkpoint of 26 MB after every step. It is
killed at a random moment of a random write, and resumed. After every kill there must be a checkpoint that is whole and
no older than the one before, and the run must continue from it.
"""

import argparse
import random
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description='Kill a run while it writes checkpoints.')
    parser.add_argument('--kills', type=int, default=50)
    parser.add_argument('--seed', type=int, default=0, help='of the moments of the kills')
    parser.add_argument('--work-dir', default='work_dirs/kill_while_saving')
    return parser.parse_args()


if __name__ == '__main__':
    arguments = parse_arguments()  # before the imports that take seconds

from killing import newest_of, quiet_config, run_and_kill

from mixcl.files import UNFINISHED
from mixcl.weights import read_checkpoint

CONFIG = Path(__file__).parents[2] / 'configs/patchmix/vit-xs4_digits.py'
LARGE_FILES = {
    'train_dataloader.batch_size': 8,
    'train_dataloader.num_workers': 0,
    'model.backbone.arch.num_layers': 1,
    'model.neck.hidden_channels': 1024,
    'model.predictor.hidden_channels': 1024,
    'default_hooks.checkpoint.by_epoch': False,
    'default_hooks.checkpoint.interval': 1,
    'train_cfg.max_epochs': 1000,
}
LONGEST_WRITE = 0.03
"""Seconds from the beginning of a write to the kill, at most: a little longer than the write."""


def within_a_write(work_dir: Path, moments: random.Random) -> Callable[[int], bool]:
    """Say yes at a random moment of the write after a few steps."""
    first_step, delay = moments.randint(1, 4), moments.uniform(0, LONGEST_WRITE)

    def ready(steps: int) -> bool:
        if steps < first_step or not list(work_dir.glob(f'*.pth{UNFINISHED}')):
            return False
        time.sleep(delay)
        return True

    return ready


def main(args: argparse.Namespace) -> None:
    work_dir, moments = Path(args.work_dir), random.Random(args.seed)
    left_behind, step, size = Counter[str](), 0, 0
    for kill in range(args.kills):
        if not run_and_kill(lambda: quiet_config(CONFIG, LARGE_FILES, work_dir), within_a_write(work_dir, moments)):
            raise RuntimeError('the run ended before it was killed')
        left_behind.update(''.join(path.suffixes[:-1]) for path in work_dir.glob(f'*{UNFINISHED}'))
        path = newest_of(work_dir)
        reached = read_checkpoint(path)['meta']['iter']
        if reached < step:
            raise RuntimeError(f'after kill {kill + 1} the newest whole checkpoint is of step {reached}, not {step}')
        step, size = reached, Path(path).stat().st_size
        print(f'kill {kill + 1}: a whole checkpoint of step {step}', flush=True)
    print(
        f'{args.kills} kills while files of {size / 1e6:.0f} MB were written, {left_behind[".pth"]} of them before the '
        f'file was complete; a whole checkpoint was there after each, the last of step {step}'
    )


if __name__ == '__main__':
    main(arguments)
