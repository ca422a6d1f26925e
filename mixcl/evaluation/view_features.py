"""Features of the views that training makes of images."""

from collections.abc import Sequence
from typing import Any

import torch
from mmengine.dist import get_dist_info
from mmengine.model import BaseModel
from torch import Tensor, distributed
from torch.utils.data import DataLoader, Subset, default_collate

from mixcl.datasets import KeyedDataset, SampleKey
from mixcl.errors import UserError
from mixcl.evaluation.features import encode_all
from mixcl.feature_statistics import lidar
from mixcl.randomness import generator, undisturbed_generators


def collate_views(samples: Sequence[dict]) -> dict:
    """Collate the views alone."""
    return default_collate(
        [{key: value for key, value in sample.items() if key != 'data_samples'} for sample in samples]
    )


def features_of_views(
    model: BaseModel, dataset: KeyedDataset, indices: Sequence[int], views: int, side: str, seed: int, workers: int = 0
) -> Tensor:
    """Compute (n, views, C) float32 features, on the CPU, of as many views of some images, by one encoder.

    Views are the crops of the first one's size, from as many epochs of the seed as are needed.
    """
    found: list[Tensor] = []

    def step(batch: dict) -> dict[str, Tensor]:
        inputs = model.data_preprocessor(batch, True)['inputs']
        crops = inputs[:views] if isinstance(inputs, list) else [inputs]
        alike = [crop for crop in crops if crop.shape == crops[0].shape]
        return {str(number): model.extract_features(crop, encoder=side) for number, crop in enumerate(alike)}

    for epoch in range(views):
        if len(found) < views:
            keys: Any = [SampleKey(seed, epoch, index) for index in indices]
            loader = DataLoader(Subset(dataset, keys), 64, num_workers=workers, collate_fn=collate_views)
            found += [torch.cat(rows).float().cpu() for rows in encode_all(model, loader, step).values()]
    return torch.stack(found[:views], dim=1)


def lidar_of(
    model: BaseModel,
    dataset: KeyedDataset,
    side: str,
    images: int,
    views: int,
    seed: int = 0,
    workers: int = 0,
    group: distributed.ProcessGroup | None = None,
) -> dict[str, float]:
    """Return :func:`~mixcl.feature_statistics.lidar` of features before the head, the number of images, and of views.

    Args:
        model, side: as for :func:`~mixcl.evaluation.features.encode`.
        dataset: images with the views of training; all are taken if they are fewer than ``images``.
        workers: number of processes that make views.
        group: result of :func:`~mixcl.distributed.host_group`; with several processes each encodes its part.

    Raises:
        UserError: for fewer than two images or views.
    """
    chosen = torch.randperm(len(dataset), generator=generator('lidar', seed))[:images].tolist()
    if len(chosen) < 2 or views < 2:
        raise UserError(f'LiDAR needs two images and two views or more, not {len(chosen)} and {views}')
    rank, world = get_dist_info()
    own, mine = torch.empty(0), chosen[rank::world]  # none if there are more processes than images
    if mine:
        with undisturbed_generators():
            own = features_of_views(model, dataset, mine, views, side, seed, workers)
    parts = [own] * world
    if world > 1:
        distributed.all_gather_object(parts, own, group=group)
    return dict(lidar=lidar(torch.cat(parts)).item(), lidar_images=len(chosen), lidar_views=views)
