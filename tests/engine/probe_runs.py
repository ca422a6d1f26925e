"""What the tests of the online probe have one process do, or each of two, and runs that validate."""

from collections.abc import Sequence

import torch
from mmengine.config import Config
from mmengine.runner import Runner
from mmpretrain.structures import DataSample

from mixcl.engine import OnlineProbe

ROWS, CHANNELS, CLASSES = 16, 6, 3


def probe_of(runner: Runner) -> OnlineProbe:
    (hook,) = [hook for hook in runner.hooks if isinstance(hook, OnlineProbe)]
    return hook


def validated(cfg: Config) -> Config:
    """A config of a run that measures 21 digits after each epoch, too."""
    digits = dict(type='Digits', split='test', indices=21, pipeline=[dict(type='mmpretrain.PackInputs')])
    loader = dict(batch_size=8, num_workers=0, collate_fn=dict(type='default_collate'), dataset=digits)
    loader['sampler'] = dict(type='DefaultSampler', shuffle=False)
    cfg.merge_from_dict(dict(val_dataloader=loader, val_evaluator=dict(type='KNNAccuracy', neighbours=(3,))))
    cfg.val_cfg = dict(type='FeatureLoop', bank_dataloader=loader)
    return cfg


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
