"""Repeat a training step whose loss or gradient was not finite, from the dump that the run left.

``python tools/replay_step.py work_dirs/RUN/nonfinite/step_123_rank0.json``

Exit status: 0 if the failure happened again, 1 if everything was finite this time (which points to the device, or to
what the other processes contributed), 2 for a mistake in the command.
"""

import argparse
import sys
from pathlib import Path

import torch

from mixcl.engine.hooks.health.dump import read_dump
from mixcl.engine.hooks.health.replay import replay_step
from mixcl.errors import UserError, reported_to_user

LINES = 10


def main() -> None:
    parser = argparse.ArgumentParser(description='Repeat a training step that failed.')
    parser.add_argument('dump', help='nonfinite/step_<step>_rank<rank>.json of a work dir')
    parser.add_argument('--checkpoint', help='weights to start from; default those stored beside the dump')
    parser.add_argument('--device', choices=['cpu', 'cuda'], default='cpu', help='where to compute')
    args = parser.parse_args()
    if args.device == 'cuda' and not torch.cuda.is_available():
        raise UserError('--device cuda: PyTorch finds no GPU here; use --device cpu')
    dump = read_dump(args.dump)
    print(f'step {dump.step} of {dump.config_name}, process {dump.rank} of {dump.world_size}, seed {dump.seed}')
    print(f'losses before: {", ".join(f"{loss:.4g}" for loss in dump.last_losses)}')
    if args.checkpoint and not Path(args.checkpoint).is_file():
        raise UserError(f'--checkpoint {args.checkpoint}: there is no such file')
    replay = replay_step(args.dump, args.checkpoint, args.device)
    for batch, losses in zip(dump.batches, replay.losses, strict=True):
        images = ' '.join(str(key[2]) for key in batch.keys)
        print(f'images {images}\n  ' + '  '.join(f'{name} {value:.4g}' for name, value in losses.items()))
    print(f'{len(replay.gradients)} of {replay.num_gradients} gradients are not finite')
    for name in replay.gradients[:LINES]:
        print(f'  {name}')
    print('the failure happened again' if replay.failed else 'everything was finite this time')
    sys.exit(0 if replay.failed else 1)


if __name__ == '__main__':
    with reported_to_user():
        main()
