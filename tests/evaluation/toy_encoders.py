"""A small model with two encoders, small labelled images and runs of them, for the tests of evaluation.

In a module of its own because spawned processes cannot import test modules.
"""

import os
import tempfile
import uuid
from pathlib import Path

import numpy as np
import torch
from mmengine.dataset import BaseDataset
from mmengine.evaluator import Evaluator
from mmengine.model import BaseModel, MMDistributedDataParallel
from mmengine.registry import DATASETS, DefaultScope
from mmengine.runner import Runner
from torch import Tensor, nn

from mixcl.errors import UserError
from mixcl.evaluation.features import extract
from mixcl.evaluation.metrics.feature_metric import FeatureMetric

BANK, QUERIES = 13, 7
PACK = dict(type='mmpretrain.PackInputs', algorithm_keys=('present',))


class ToyImages(BaseDataset):
    """Noisy 4x4 images of three classes, each a function of its index; ``present`` goes round with the class."""

    def __init__(self, size: int, seed: int = 0, labelled: bool = True) -> None:
        self.size, self.seed, self.labelled = size, seed, labelled
        super().__init__(serialize_data=False, pipeline=[PACK])

    def load_data_list(self) -> list[dict]:
        random = torch.Generator().manual_seed(self.seed)
        samples = []
        for index in range(self.size):
            image = torch.randint(0, 200, (4, 4, 3), generator=random)
            image[..., index % 3] += 40
            labels = dict(gt_label=index % 3, present=np.array([1, index % 3 - 1], dtype=np.int8))
            samples.append(dict(img=image.to(torch.uint8).numpy(), **(labels if self.labelled else {})))
        return samples


DATASETS.register_module(module=ToyImages, force=True)


class ToyModel(BaseModel):
    """Two linear encoders with batch normalisation; the target's normalisation is frozen in evaluation mode."""

    encoder_names = ('online', 'target')

    def __init__(self) -> None:
        super().__init__(
            data_preprocessor=dict(type='mmpretrain.SelfSupDataPreprocessor', mean=[110.0] * 3, std=[60.0] * 3)
        )
        torch.manual_seed(0)
        self.online, self.target = (nn.Sequential(nn.Flatten(), nn.Linear(48, 6), nn.BatchNorm1d(6)) for _ in range(2))
        self.target.eval()
        self.modes_seen: set[bool] = set()

    def extract_features(self, images: Tensor, encoder: str) -> Tensor:
        self.modes_seen.add(self.training)
        return getattr(self, encoder)(images)

    def forward(self, inputs: list[Tensor] | Tensor, data_samples: list | None = None, mode: str = 'tensor') -> dict:
        return dict(loss=self.online(inputs).square().mean())


def dataloader(size: int, seed: int = 0, labelled: bool = True, batch_size: int = 4, **sampler: bool) -> dict:
    """Config of a loader over :class:`ToyImages`, as the configs of evaluation have it."""
    return dict(
        batch_size=batch_size,
        dataset=dict(type='mmengine.ToyImages', size=size, seed=seed, labelled=labelled),
        sampler=dict(type='DefaultSampler', shuffle=False, **sampler),
        collate_fn=dict(type='default_collate'),
    )


def built(loader: dict) -> torch.utils.data.DataLoader:
    """Build a loader as the runner does."""
    with DefaultScope.overwrite_default_scope('mmengine'):
        return Runner.build_dataloader(loader, seed=0)


def loop(bank: dict, **settings: object) -> dict:
    """Config of the loop."""
    return dict(type='FeatureLoop', bank_dataloader=bank, **settings)


def evaluation(mode: str, bank: dict, queries: dict, *neighbours: int, **settings: object) -> dict:
    return {
        f'{mode}_cfg': loop(bank, **settings),
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
    """Computes nothing."""

    def compute(self, *sets: Tensor) -> dict[str, float]:
        raise UserError('these features will not do')


def two_processes(rank: int) -> dict:
    """What one of two processes finds with and without padding, and what it is told when the computing one refuses."""
    os.environ['LOCAL_RANK'] = '0'
    folder, results = Path(tempfile.mkdtemp()), {}
    for round_up in (True, False):
        bank, queries = dataloader(BANK, round_up=round_up), dataloader(QUERIES, seed=1, round_up=round_up)
        model = MMDistributedDataParallel(ToyModel())
        settings = evaluation('test', bank, queries, 3, 20)
        runner = runner_of(folder, model, launcher='pytorch', **settings)
        results[round_up] = runner.test(), *extract(model.module, built(bank), ('online',))
    settings['test_evaluator'] = Evaluator(Refusing())
    try:
        runner_of(folder, model, launcher='pytorch', **settings).test()
    except UserError as error:
        results['refusal'] = str(error)
    return results
