"""How much longer a training step takes while another process is busy.

``python tools/benchmark/shared_machine.py`` takes steps of PatchMix on a CPU, alone and beside a busy process in turn,
and prints the medians: OpenMP's threads wait awake for a moment, as in every run of mixcl, sleep, or stay awake. Only
on an idle machine is "alone" alone: the load when it began is printed, too.
"""

from mixcl.starting import begin

begin(__name__)

import argparse
import os
import statistics
import subprocess
import sys
from pathlib import Path

CONFIG = str(Path(__file__).parents[2] / 'configs/patchmix/vit-s16_in1k.py')


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.partition('\n')[0])
    parser.add_argument('config', nargs='?', default=CONFIG)
    parser.add_argument('--batch-size', type=int, default=16)
    parser.add_argument('--threads', type=int, default=os.cpu_count(), help='of the step; all cores by default')
    parser.add_argument('--steps', type=int, default=2, help='of a turn')
    parser.add_argument('--turns', type=int, default=5)
    return parser.parse_args()


if __name__ == '__main__':
    arguments = parse_arguments()  # before the imports that take seconds


from step import Contestant

from mixcl.machine import WAITING

WAYS = (
    (WAITING, 'threads that sleep after a moment'),
    (dict(OMP_WAIT_POLICY='PASSIVE'), 'threads that sleep'),
    (dict(OMP_WAIT_POLICY='ACTIVE'), 'threads that stay awake'),
)


def measure(contestant: Contestant, steps: int, turns: int) -> tuple[float, float]:
    """Median seconds of a step, alone and beside a busy process."""
    seconds: dict[bool, list[float]] = {False: [], True: []}
    contestant.take(2)  # optimiser states, caches
    for _ in range(turns):
        for busy, times in seconds.items():
            other = subprocess.Popen([sys.executable, '-c', 'while True: pass']) if busy else None
            contestant.take(steps)
            times.append(contestant.answers[-1]['seconds'] / steps)
            if other is not None:
                other.kill()
                other.wait()
    return statistics.median(seconds[False]), statistics.median(seconds[True])


def main(args: argparse.Namespace) -> None:
    print(f'{args.threads} threads, {os.cpu_count()} cores, load before: {os.getloadavg()[0]:.1f}')
    for policy, name in WAYS:
        environment = dict(os.environ, **policy, OMP_NUM_THREADS=str(args.threads))
        contestant = Contestant('mixcl_step.py', [args.config, str(args.batch_size), 'cpu', 'fp32'], environment)
        try:
            alone, beside = measure(contestant, args.steps, args.turns)
        finally:
            contestant.end()
        print(f'{name}: {alone:.2f} s a step alone, {beside:.2f} s beside a busy process, {beside / alone:.1f} times')


if __name__ == '__main__':
    main(arguments)
