"""A small model with two encoders and runs of it on a few digits, for the tests of evaluation.

This is a module of its own because spawned processes cannot import test modules.
"""

import os
import re
import tempfile
import uuid
from pathlib import Path
from typing import Any
from unittest.mock import patch

import torch
from mmengine.evaluator import Evaluator
from mmengine.model import BaseModel, MMDistributedDataParallel
from mmengine.registry import DefaultScope
from mmengine.runner import Runner
from torch import Tensor, nn
from torch.utils._python_dispatch import TorchDispatchMode

from mixcl.distributed import host_group
from mixcl.errors import UserError
from mixcl.evaluation.features import extract
from mixcl.evaluation.metrics.base import FeatureMetric

BANK, QUERIES = 13, 7
PIXELS = 192


class ToyModel(BaseModel):
    """Two linear encoders with batch normalisation; the target's normalisation is frozen in evaluation mode."""

    encoder_names = ('online', 'target')

    def __init__(self) -> None:
        super().__init__(
            data_preprocessor=dict(type='mmpretrain.SelfSupDataPreprocessor', mean=[110.0] * 3, std=[60.0] * 3)
        )
        torch.manual_seed(0)
        self.online, self.target = (
            nn.Sequential(nn.Flatten(), nn.Linear(PIXELS, 6), nn.BatchNorm1d(6)) for _ in range(2)
        )
        self.target.eval()
        self.modes_seen: set[bool] = set()

    def extract_features(self, images: Tensor, encoder: str) -> Tensor:
        self.modes_seen.add(self.training)
        return getattr(self, encoder)(images)

    def forward(self, inputs: list[Tensor] | Tensor, data_samples: list | None = None, mode: str = 'tensor') -> dict:
        return dict(loss=self.online(inputs).square().mean())


def dataloader(size: int, split: str = 'train', **sampler: bool) -> dict:
    """Return a loader's config over the first digits, as in the configs of evaluation."""
    pipeline = [dict(type='mmpretrain.PackInputs')]
    return dict(
        batch_size=4,
        dataset=dict(type='mixcl.Digits', split=split, indices=size, pipeline=pipeline),
        sampler=dict(type='DefaultSampler', shuffle=False, **sampler),
        collate_fn=dict(type='default_collate'),
    )


def built(loader: dict) -> torch.utils.data.DataLoader:
    """Build a loader as the runner does."""
    with DefaultScope.overwrite_default_scope('mmengine'):
        return Runner.build_dataloader(loader, seed=0)


def evaluation(mode: str, bank: dict, queries: dict, *neighbours: int, **settings: object) -> dict:
    """Return a runner's settings for an evaluation; ``settings`` are those of the loop."""
    return {
        f'{mode}_cfg': dict(type='FeatureLoop', bank_dataloader=bank, **settings),
        f'{mode}_dataloader': queries,
        f'{mode}_evaluator': dict(type='KNNAccuracy', neighbours=neighbours),
    }


def runner_of(work_dir: Path, model: torch.nn.Module, **settings: object) -> Runner:
    settings.setdefault('default_hooks', dict(checkpoint=None))
    name = uuid.uuid4().hex
    return Runner(
        model, str(work_dir), default_scope='mixcl', experiment_name=name, randomness=dict(seed=0), **settings
    )


class Refusing(FeatureMetric):
    """Metric that computes nothing."""

    def compute(self, *sets: Tensor) -> dict[str, float]:
        raise UserError('these features will not do')


def two_processes(rank: int) -> dict:
    """Return what one of two processes finds with and without padding, in pieces and at once, and the most rows held.

    Also return its errors when the computing process refuses, and when a process lacks images.
    """
    os.environ['LOCAL_RANK'] = '0'
    folder, results = Path(tempfile.mkdtemp()), {}
    for round_up, at_once in ((True, 3), (False, 3), (True, 100)):
        bank, queries = dataloader(BANK, round_up=round_up), dataloader(QUERIES, 'test', round_up=round_up)
        model = MMDistributedDataParallel(ToyModel())
        settings = evaluation('test', bank, queries, 3, 20)
        runner = runner_of(folder, model, launcher='pytorch', **settings)
        with patch('mixcl.evaluation.features.ROWS_AT_ONCE', at_once), MostRows() as most:
            found = runner.test(), *extract(model.module, built(bank), ('online',), group=host_group())
        results[round_up, at_once] = *found, most.rows
    try:
        extract(model.module, built(dataloader(9, round_up=False) | dict(drop_last=True)), ('online',))
    except UserError as error:
        results['short'] = re.search('gave . of . images', str(error))[0]
    settings['test_evaluator'] = Evaluator(Refusing())
    try:
        runner_of(folder, model, launcher='pytorch', **settings).test()
    except UserError as error:
        results['refusal'] = str(error)
    return results


class MostRows(TorchDispatchMode):
    """Recorder of the most rows in a tensor of features, (n, 6) or (.., n, 6), that is made in a ``with`` block."""

    rows = 0

    def __torch_dispatch__(self, function: Any, types: Any, args: tuple = (), kwargs: dict | None = None) -> Any:
        made = function(*args, **(kwargs or {}))
        for tensor in made if isinstance(made, (tuple, list)) else [made]:
            if isinstance(tensor, Tensor) and tensor.shape[-1:] == (6,) and len(tensor) != PIXELS:
                self.rows = max(self.rows, tensor.numel() // 6)
        return made
