"""Time and activation memory of an APS training step that keeps a quarter of the patches, and all of them.

``python tools/benchmark/token_dropping.py`` prints a table. A step is two views of a batch through backbone, heads and
loss, the backward pass, and AdamW. Memory is that of tensors saved for the backward pass; on a GPU
the peak above what was allocated before the step.
"""

import argparse
import statistics
import time
from functools import partial
from typing import Any

ARCHITECTURES = {'ViT-T/2': (192, 3), 'ViT-S/2': (384, 6)}  # width, heads


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description='Cost of an APS step with and without dropping tokens.')
    parser.add_argument('--batch-size', type=int, default=32)
    parser.add_argument('--repeats', type=int, default=5, help='timed steps, of which the median is printed')
    parser.add_argument('--arch', choices=ARCHITECTURES, nargs='+', default=list(ARCHITECTURES))
    return parser.parse_args()


if __name__ == '__main__':
    arguments = parse_arguments()  # before the imports that take seconds

import torch
from mmengine.registry import DefaultScope
from mmpretrain.structures import DataSample
from torch import Tensor
from torch.optim import AdamW, Optimizer

from mixcl.algorithms import PatchSamplingLearner
from mixcl.apis.complexity import activation_bytes as bytes_beside_weights
from mixcl.registry import MODELS

PATCHES = 256
RATIOS = (0.25, 1.0)
MOST = 0.40
"""Share of the cost of all patches that a quarter of them may cost."""


def learner(width: int, heads: int) -> PatchSamplingLearner:
    """APS on CIFAR, without target encoder."""
    arch = dict(embed_dims=width, num_layers=12, num_heads=heads, feedforward_channels=4 * width)
    sizes = dict(hidden_channels=512, out_channels=128, num_layers=3)
    with DefaultScope.overwrite_default_scope('mixcl'):
        return MODELS.build(
            dict(
                type='PatchSamplingLearner',
                backbone=dict(type='ContrastiveViT', arch=arch, img_size=32, patch_size=2, qkv_bias=False),
                neck=dict(type='MLPHead', in_channels=width, **sizes),
                predictor=dict(type='MLPHead', in_channels=128, **sizes),
                target=dict(type='StopGrad'),
                objective=dict(type='InfoNCE', temperature=0.1),
                terms=[('view1', 'view2', 1.0), ('view2', 'view1', 1.0)],
            )
        )


def samples(batch_size: int, ratio: float, device: str) -> list[DataSample]:
    """Two random sets of patches for each image."""
    kept = int(PATCHES * ratio)
    tokens = [torch.stack([torch.randperm(PATCHES)[:kept] for _ in range(2)]) for _ in range(batch_size)]
    return [DataSample(tokens=part.to(device)) for part in tokens]


def step(model: PatchSamplingLearner, optimizer: Optimizer, views: list[Tensor], kept: list[DataSample]) -> None:
    loss, _ = model.parse_losses(model.loss(views, kept))
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()


def seconds(*arguments: Any) -> float:
    """Duration of one step."""
    start = time.perf_counter()
    step(*arguments)
    if torch.cuda.is_available():
        torch.cuda.synchronize()
    return time.perf_counter() - start


def activation_bytes(model: PatchSamplingLearner, *arguments: Any) -> int:
    """Memory of one step beyond weights, optimiser state and images."""
    return bytes_beside_weights(model, partial(step, model, *arguments))


def measure(name: str, batch_size: int, repeats: int) -> None:
    device = 'cuda' if torch.cuda.is_available() else 'cpu'
    model = learner(*ARCHITECTURES[name]).to(device)
    optimizer = AdamW(model.parameters(), lr=1e-3)
    views = [torch.randn(batch_size, 3, 32, 32, device=device) for _ in range(2)]
    arguments = {ratio: (model, optimizer, views, samples(batch_size, ratio, device)) for ratio in RATIOS}
    for given in arguments.values():
        step(*given)  # optimiser states are allocated, caches are warm
    memory = {ratio: activation_bytes(*given) for ratio, given in arguments.items()}
    # Alternating, so that other load on the machine affects both.
    times = [{ratio: seconds(*given) for ratio, given in arguments.items()} for _ in range(repeats)]
    median = {ratio: statistics.median(part[ratio] for part in times) for ratio in RATIOS}
    for label, values in {
        'seconds per step': median,
        'activations, MiB': {r: m / 2**20 for r, m in memory.items()},
    }.items():
        share = values[0.25] / values[1.0]
        verdict = 'ok' if share <= MOST else f'above {MOST:.2f}'
        print(f'{name:>8} {label:>17} {values[0.25]:10.3f} {values[1.0]:10.3f} {share:6.3f}  {verdict}', flush=True)


def main(arguments: argparse.Namespace) -> None:
    print(f'batch {arguments.batch_size} x 2 views, {PATCHES} patches, {torch.get_num_threads()} thread(s)')
    print(f'{"":>8} {"":>17} {"ratio .25":>10} {"ratio 1":>10} {"share":>6}')
    for name in arguments.arch:
        measure(name, arguments.batch_size, arguments.repeats)


if __name__ == '__main__':
    main(arguments)
