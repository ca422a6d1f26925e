"""The largest batch whose training step in bf16 fits the memory of the GPU.

``python tools/benchmark/full_batch.py --config configs/patchmix/vit-b16_in1k.py`` doubles the batch until memory is
full, then halves the gap. A batch of another size is the first one repeated.
"""

from mixcl.starting import begin

begin(__name__)

import argparse
import json
from collections.abc import Callable
from pathlib import Path

from mixcl.errors import reported_to_user


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.partition('\n')[0])
    parser.add_argument('--config', default='configs/patchmix/vit-s16_in1k.py')
    parser.add_argument('--out', type=Path, metavar='FILE', help='write the rows to this .json file, too')
    return parser.parse_args()


if __name__ == '__main__':
    arguments = parse_arguments()  # before the imports that take seconds


import torch

from mixcl.apis.complexity import SyntheticIteration
from mixcl.engine.runners.command_options import use_mixed_precision
from mixcl.engine.runners.launch import read_config

FIRST = 32


def largest(fits: Callable[[int], bool], first: int = FIRST) -> int:
    """The largest multiple of ``first`` that fits, to within an eighth; 0 if not even that does."""
    good, bad = 0, first
    while fits(bad):
        good, bad = bad, 2 * bad
    while bad - good > max(first, good // 8):
        middle = (good + bad) // 2 // first * first
        good, bad = (middle, bad) if fits(middle) else (good, middle)
    return good


def fits(iteration: SyntheticIteration, batch: int) -> bool:
    """Whether two steps with so many images, a multiple of those that the iteration was made with, find memory."""
    torch.cuda.empty_cache()  # of the attempt before
    own = iteration.batch
    times = batch // len(own['inputs'][0])
    views = [view.repeat(times, 1, 1, 1) for view in own['inputs']]
    iteration.batch = dict(own, inputs=views, data_samples=list(own['data_samples']) * times)
    try:
        for _ in range(2):  # the second has the states of the optimiser
            iteration.run()
        torch.cuda.synchronize()
        return True
    except torch.OutOfMemoryError:
        return False
    finally:
        iteration.batch = own
        iteration.model.zero_grad()


def main(args: argparse.Namespace) -> None:
    cfg = read_config(args.config)
    use_mixed_precision(cfg)
    iteration = SyntheticIteration(cfg, FIRST, 'cuda')
    batch = largest(lambda batch: fits(iteration, batch))
    print(f'{args.config}: {batch} images fit')
    if args.out:
        args.out.write_text(json.dumps([dict(config=args.config, precision='bf16', batch=batch)], indent=1))


if __name__ == '__main__':
    with reported_to_user():
        main(arguments)
