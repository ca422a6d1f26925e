"""Steps of the online probe, for tests in one process and in two, and runs that validate."""

from collections.abc import Sequence
from types import SimpleNamespace

import tiny
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
    """Let the run of a config also validate on 21 digits after each epoch; return the config."""
    digits = dict(type='Digits', split='test', indices=21, pipeline=[dict(type='mmpretrain.PackInputs')])
    loader = dict(batch_size=8, num_workers=0, collate_fn=dict(type='default_collate'), dataset=digits)
    loader['sampler'] = dict(type='DefaultSampler', shuffle=False)
    cfg.merge_from_dict(dict(val_dataloader=loader, val_evaluator=dict(type='KNNAccuracy', neighbours=(3,))))
    cfg.val_cfg = dict(type='FeatureLoop', bank_dataloader=loader)
    return cfg


def samples(labels: Sequence[int | None]) -> list[DataSample]:
    return [DataSample() if label is None else DataSample().set_gt_label(label) for label in labels]


def begun(hook: OnlineProbe, model: object, labels: Sequence[int | None], classes: tuple = ()) -> OnlineProbe:
    """Return the hook after the start of a run on images with these labels."""
    images = [{} if label is None else dict(gt_label=label) for label in labels]
    methods = dict(__len__=lambda self: len(images), get_data_info=lambda self, index: images[index])
    data = type('Images', (), dict(methods, metainfo=dict(classes=classes), dataset=images))()
    hook.before_train(SimpleNamespace(model=model, train_dataloader=SimpleNamespace(dataset=data)))
    return hook


class Watched:
    """A probe on features of three classes away from the origin, and its accuracies."""

    def __init__(self) -> None:
        self.model, self.accuracies = tiny.build(), list[float]()
        self.hook = begun(OnlineProbe(CLASSES), self.model, [0])
        self.random = torch.Generator().manual_seed(0)

    def see(self, features: torch.Tensor, labels: Sequence[int | None]) -> None:
        """Take one step on features of a view of two crops."""
        outputs: dict[str, torch.Tensor] = {}
        for observe in self.model.observers:
            observe(dict(view1=features.repeat(2, 1)), {})
        self.hook.after_train_iter(None, 0, dict(data_samples=samples(labels)), outputs)
        self.accuracies += [float(value) for value in outputs.values()]

    def learn(self, rows: slice, steps: int, unlabelled: Sequence[int] = ()) -> 'Watched':
        """Take steps on a slice of 16 rows."""
        labels = torch.arange(ROWS) % CLASSES
        given = [None if number in unlabelled else label for number, label in enumerate(labels.tolist())]
        for _ in range(steps):
            noise = 0.1 * torch.randn(ROWS, CHANNELS, generator=self.random)
            self.see((5 + torch.eye(CLASSES, CHANNELS)[labels] + noise)[rows], given[rows])
        return self
