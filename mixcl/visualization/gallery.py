"""Images as a model sees them in evaluation."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from mmengine.config import Config
from mmengine.model import BaseModel
from torch import Tensor
from torch.utils.data import DataLoader, Subset

from mixcl.datasets import KeyedDataset
from mixcl.errors import UserError
from mixcl.evaluation.feature_files import collate_one_size, labels_of
from mixcl.evaluation.features import features_of, with_progress
from mixcl.randomness import generator
from mixcl.recipes.data_roots import check_data_roots
from mixcl.recipes.images import image_pipeline, source_images
from mixcl.recipes.paths import innermost, preprocessors_of
from mixcl.registry import DATASETS, build
from mixcl.visualization.pictured import Pictured


@dataclass(frozen=True)
class Gallery:
    """Images as the model sees them in evaluation.

    Attributes:
        dataset: data set of these images.
        indices: of these images.
        labels: (N,) int64 classes, None if there are none.
        classes: names of the classes, as far as they are known.
    """

    dataset: KeyedDataset
    indices: list[int]
    labels: Tensor | None
    classes: Sequence[str]

    def class_name(self, label: int) -> str:
        """Return the name of a class, or its number."""
        return self.classes[label] if label < len(self.classes) else str(label)

    def images(self, numbers: Sequence[int]) -> Tensor:
        """Load some of these images, (n, C, H, W) uint8, as the pipeline gives them."""
        samples = [dict(inputs=self.dataset[self.indices[number]]['inputs']) for number in numbers]
        return collate_one_size(samples)['inputs']

    def features(self, model: BaseModel, side: str = 'online') -> Tensor:
        """Compute (N, C) float32 features of the images, on the CPU, by an encoder or a side of a learner."""
        loader = DataLoader(Subset(self.dataset, self.indices), 64, collate_fn=collate_one_size)
        return features_of(model, with_progress(loader), side)


def gallery_of(pictured: Pictured, most: int, least: int = 1) -> Gallery:
    """Choose images that a model is evaluated on: of the source, else those that the config tests, else trains on.

    The same seed chooses the same images; all are taken if there are fewer than ``most``.

    Raises:
        UserError: if there are fewer than ``least``, or they cannot be read.
    """
    cfg = pictured.config
    if pictured.source:
        pipeline = image_pipeline(cfg, pictured.image_size)
        settings: Any = source_images(pictured.source, cfg, pipeline, pictured.data_root)
    else:
        evaluated = cfg.get('test_dataloader') or cfg.get('val_dataloader')
        loader = evaluated or cfg.get('train_dataloader')
        if not loader:
            raise UserError('the config names no images; give some by `images=FOLDER`')
        check_data_roots(Config(dict(test_dataloader=loader)))
        settings = innermost(loader['dataset'])
        if not evaluated:
            settings = {**settings, 'pipeline': image_pipeline(cfg, pictured.image_size)}
    dataset = build(DATASETS, dict(type='KeyedDataset', dataset=dict(settings)))
    if len(dataset) < least:
        raise UserError(
            f'this figure needs {least} images or more, but there are {len(dataset)}; give others by `images`'
        )
    order = torch.randperm(len(dataset), generator=generator('gallery', pictured.seed))[:most]
    labels = labels_of(dataset)
    classes = tuple(map(str, dataset.metainfo.get('classes') or ()))
    return Gallery(dataset, order.tolist(), None if labels is None else torch.from_numpy(labels)[order], classes)


def displayed(cfg: Config, images: Tensor) -> Tensor:
    """Convert images (N, C, H, W) of a pipeline to what people see: RGB, float in [0, 1]."""
    preprocessor: Any = next(iter(preprocessors_of(cfg)), {})
    return (images.flip(1) if preprocessor.get('to_rgb') and images.shape[1] == 3 else images).float() / 255
