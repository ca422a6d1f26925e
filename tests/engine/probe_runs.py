"""What the tests of the online probe have one process do, or each of two."""

from collections.abc import Sequence

import torch
from mmengine.runner import Runner
from mmpretrain.structures import DataSample

from mixcl.engine import OnlineProbe

ROWS, CHANNELS, CLASSES = 16, 6, 3


def probe_of(runner: Runner) -> OnlineProbe:
    (hook,) = [hook for hook in runner.hooks if isinstance(hook, OnlineProbe)]
    return hook


def samples(labels: Sequence[int | None]) -> list[DataSample]:
    return [DataSample() if label is None else DataSample().set_gt_label(label) for label in labels]


def learnt(rows: slice, steps: int, unlabelled: Sequence[int] = ()) -> tuple[OnlineProbe, list[float]]:
    """A probe that has seen these of 16 rows in every step, three classes off the origin, and its accuracies."""
    hook, random, accuracies = OnlineProbe(CLASSES), torch.Generator().manual_seed(0), []
    hook._classes, hook._view = CLASSES, 'view1'
    labels = torch.arange(ROWS) % CLASSES
    for _ in range(steps):
        features = 5 + torch.eye(CLASSES, CHANNELS)[labels] + 0.1 * torch.randn(ROWS, CHANNELS, generator=random)
        given = [None if number in unlabelled else label for number, label in enumerate(labels.tolist())]
        outputs: dict[str, torch.Tensor] = {}
        hook._observe(dict(view1=features[rows].repeat(2, 1)), {})  # of two crops
        hook.after_train_iter(None, 0, dict(data_samples=samples(given[rows])), outputs)
        accuracies += [float(value) for value in outputs.values()]
    return hook, accuracies
