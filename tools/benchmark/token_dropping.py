"""Time, activation memory and FLOPs of a training step that keeps some of the patches, and of one that keeps all.

``python tools/benchmark/token_dropping.py`` prints a table: APS on a quarter of the patches, and hosts whose online
encoder sees half of them. ``python tools/benchmark/token_dropping.py configs/simclr/vit-s16_in1k.py --keep 0.3``
measures another config. An iteration is that of tools/complexity.py: forward passes, backward pass, optimiser, target
encoder.
"""

from mixcl.starting import begin

begin(__name__)

import argparse
import json
import statistics
import time
from pathlib import Path

from mixcl.errors import reported_to_user


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description='Cost of a training step with and without dropping patches.')
    parser.add_argument('configs', nargs='*', help='pretraining configs; default: those of the table')
    parser.add_argument('--keep', type=float, help='share of the patches that is kept; default: of the table, or 0.5')
    parser.add_argument('--batch-size', type=int, default=16)
    parser.add_argument('--repeats', type=int, default=5, help='timed steps, of which the median is printed')
    parser.add_argument('--amp', action='store_true', help='mixed precision: bfloat16 autocast')
    parser.add_argument('--out', type=Path, metavar='FILE', help='write the rows to this .json file, too')
    return parser.parse_args()


if __name__ == '__main__':
    arguments = parse_arguments()  # before the imports that take seconds


import torch
from mmengine.config import Config

from mixcl.apis.complexity import SyntheticIteration, activation_bytes, count_flops
from mixcl.experiments.options.run import use_mixed_precision
from mixcl.experiments.prepared import prepared

TABLE = {
    'configs/aps/vit-t2_cifar10.py': 0.25,
    'configs/aps/vit-s2_cifar10.py': 0.25,
    'configs/mocov3/vit-s16_in1k.py': 0.5,
    'configs/patchmix/vit-s16_in1k.py': 0.5,
    'configs/simclr/vit-s16_in1k.py': 0.5,
}
"""The configs that are measured, and the share of the patches that is kept."""

GOALS = {0.25: (0.40, 0.40), 0.5: (0.60, 0.55)}
"""Share of the time and of the activations of all patches that such a share of them may cost."""


def with_share(cfg: Config, keep: float) -> Config:
    """A pretraining config whose queries (for APS: both encoders) see a share of the patches; changed in place."""
    if cfg.model.type == 'PatchSamplingLearner':
        (step,) = (step for step in cfg.train_dataloader.dataset.dataset.pipeline if step.type == 'SampledPatchPair')
        step.ratio = keep
    else:
        queries = {query for query, *_ in cfg.model.terms}
        cfg.merge_from_dict({f'model.streams.{query}.keep': keep for query in queries})
    return cfg


def seconds(iteration: SyntheticIteration) -> float:
    """Duration of one iteration."""
    start = time.perf_counter()
    iteration.run()
    if iteration.device.type == 'cuda':
        torch.cuda.synchronize()
    return time.perf_counter() - start


def measure(config: str, keep: float, batch_size: int, repeats: int, amp: bool) -> list[dict]:
    """Print and return one row for each quantity."""
    iterations = {}
    for share in (keep, 1.0):
        cfg = with_share(prepared(config), share)
        if amp:
            use_mixed_precision(cfg)
        iterations[share] = SyntheticIteration(cfg, batch_size, 'cuda' if torch.cuda.is_available() else 'cpu')
    # Counting comes first: it makes the optimiser states.
    flops = [count_flops(iteration.run)[0] / 1e9 for iteration in iterations.values()]
    memory = [activation_bytes(iteration.model, iteration.run) / 2**20 for iteration in iterations.values()]
    # Alternating, so that other load on the machine affects both.
    times = [[seconds(iteration) for iteration in iterations.values()] for _ in range(repeats)]
    median = [statistics.median(column) for column in zip(*times, strict=True)]
    goals = dict(zip(('seconds', 'activations, MiB'), GOALS.get(keep, ()), strict=False))
    print(f'{config}, keep {keep}, {batch_size} images')
    rows = []
    for label, (part, whole) in {'seconds': median, 'activations, MiB': memory, 'GFLOPs': flops}.items():
        goal = goals.get(label)
        verdict = '' if goal is None else 'ok' if part / whole <= goal else f'above {goal:.2f}'
        print(f'{label:>20} {part:10.3f} {whole:10.3f} {part / whole:6.3f}  {verdict}', flush=True)
        rows.append(dict(config=config, keep=keep, quantity=label, part=part, all=whole, share=part / whole))
    return rows


def main(arguments: argparse.Namespace) -> None:
    print(f'{torch.get_num_threads()} thread(s)')
    print(f'{"":>20} {"part":>10} {"all":>10} {"share":>6}')
    rows = []
    for config in arguments.configs or TABLE:
        keep = arguments.keep or TABLE.get(config, 0.5)
        rows += measure(config, keep, arguments.batch_size, arguments.repeats, arguments.amp)
        if arguments.out:
            arguments.out.write_text(json.dumps(rows, indent=1))


if __name__ == '__main__':
    with reported_to_user():
        main(arguments)
