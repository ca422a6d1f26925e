"""Images as a model is evaluated on them, and its encoder."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from mmengine.config import Config
from torch import Tensor
from torch.utils.data import DataLoader, Subset

from mixcl.configuration import check_data_roots
from mixcl.datasets import KeyedDataset
from mixcl.engine.runners.data_option import innermost
from mixcl.errors import UserError
from mixcl.evaluation.features import encode_all
from mixcl.evaluation.image_sources import collate_one_size, image_pipeline, labels_of, preprocessor_of, source_images
from mixcl.evaluation.models import FrozenEncoder
from mixcl.randomness import generator, seed_global_generators
from mixcl.registry import DATASETS, MODELS, build
from mixcl.visualization.pictured import Pictured
from mixcl.weights import load_backbone


@dataclass(frozen=True)
class Gallery:
    """Images as the model is evaluated on them.

    Attributes:
        dataset: they are part of.
        indices: of these images.
        labels: (N,) int64 classes, None where they have none.
        classes: names of the classes, as far as they are known.
    """

    dataset: KeyedDataset
    indices: list[int]
    labels: Tensor | None
    classes: Sequence[str]

    def class_name(self, label: int) -> str:
        """The name of a class, or its number."""
        return self.classes[label] if label < len(self.classes) else str(label)

    def images(self, numbers: Sequence[int]) -> Tensor:
        """(n, C, H, W) uint8, as the pipeline gives them, of some of these images."""
        samples = [dict(inputs=self.dataset[self.indices[number]]['inputs']) for number in numbers]
        return collate_one_size(samples)['inputs']


def gallery_of(pictured: Pictured, most: int, least: int = 1) -> Gallery:
    """Draw images that a model is evaluated on: of the source, else those that the config tests, else trains on.

    Args:
        pictured: the model.
        most: how many; the same ones for the same seed. All where there are fewer.
        least: how many there must be.

    Raises:
        UserError: if there are too few, or they cannot be read.
    """
    cfg = pictured.config
    if pictured.source:
        settings: Any = source_images(pictured.source, cfg, pictured.image_size, pictured.data_root)
    else:
        evaluated = cfg.get('test_dataloader') or cfg.get('val_dataloader')
        loader = evaluated or cfg.get('train_dataloader')
        if not loader:
            raise UserError('the config names no images; give some by --images FOLDER')
        check_data_roots(Config(dict(test_dataloader=loader)))
        settings = innermost(loader['dataset'])
        if not evaluated:
            settings = {**settings, 'pipeline': image_pipeline(cfg, pictured.image_size)}
    dataset = build(DATASETS, dict(type='KeyedDataset', dataset=dict(settings)))
    if len(dataset) < least:
        raise UserError(
            f'this figure needs {least} images or more, but there are {len(dataset)}; give others by --images'
        )
    order = torch.randperm(len(dataset), generator=generator('gallery', pictured.seed))[:most]
    labels = labels_of(dataset)
    classes = tuple(map(str, dataset.metainfo.get('classes') or ()))
    return Gallery(dataset, order.tolist(), None if labels is None else torch.from_numpy(labels)[order], classes)


def encoder_of(pictured: Pictured) -> FrozenEncoder:
    """The encoder, on the CPU: that of the checkpoint, or a random one.

    Raises:
        UserError: if the config describes none, the checkpoint has no such encoder, or its weights do not fit.
    """
    cfg, subject = pictured.config, pictured.subject
    backbone = subject.backbone if subject else (cfg.get('model') or {}).get('backbone')
    preprocessor = preprocessor_of(cfg)
    if not backbone or not preprocessor:
        raise UserError('the config says nothing about a backbone and its data_preprocessor; name one that does')
    seed_global_generators(pictured.seed, 'random encoder')
    encoder = build(MODELS, dict(type='FrozenEncoder', backbone=dict(backbone), data_preprocessor=preprocessor))
    if subject is None:
        encoder.init_weights()
    else:
        load_backbone(encoder.backbone, subject.encoders[pictured.side])
    return encoder.eval()


def features_of(encoder: Any, gallery: Gallery, side: str = 'online', batch_size: int = 64) -> Tensor:
    """(N, C) float32 features of all images of a gallery, on the CPU, by a ``FrozenEncoder`` or a side of a learner."""
    loader = DataLoader(Subset(gallery.dataset, gallery.indices), batch_size, collate_fn=collate_one_size)
    features, _ = encode_all(encoder, loader, [side])
    return torch.cat(features[side])


def displayed(cfg: Config, images: Tensor) -> Tensor:
    """(N, C, H, W) of a pipeline as people see them: RGB, float in [0, 1]."""
    preprocessor = preprocessor_of(cfg) or {}
    return (images.flip(1) if preprocessor.get('to_rgb') and images.shape[1] == 3 else images).float() / 255
