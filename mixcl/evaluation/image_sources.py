"""The images whose features are extracted: those of a folder, or of a config's data set."""

import hashlib
import os
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from mmengine.config import Config
from mmengine.dataset import default_collate

from mixcl.configuration import check_data_roots
from mixcl.datasets import KeyedDataset
from mixcl.errors import UserError

Pipeline = list[dict[str, Any]]


def config_images(cfg: Config, split: str) -> tuple[KeyedDataset, Pipeline]:
    """The data set that a config evaluates ('test') or its training images without augmentation ('train'; the
    ``bank_dataloader`` of ``test_cfg``), and its pipeline.

    Raises:
        UserError: if the config has none, or the data are not there.
    """
    loader = cfg.get('test_dataloader') if split == 'test' else (cfg.get('test_cfg') or {}).get('bank_dataloader')
    if not loader:
        place = 'test_dataloader' if split == 'test' else 'test_cfg.bank_dataloader, the training images as they are'
        raise UserError(f'--split {split}: the config has no {place}')
    check_data_roots(Config(dict(test_dataloader=loader)))
    dataset = _innermost(loader['dataset'])
    return KeyedDataset(dataset), dataset['pipeline']


def folder_pipeline(config: Config, image_size: int | None = None) -> Pipeline:
    """How images of a folder are prepared for the backbone of a config.

    Args:
        config: of the pretraining; as it tests (else validates), so are the images prepared.
        image_size: instead, resize the short edge to 256/224 of this and crop the centre, as the papers do.

    Raises:
        UserError: if the config does not test, and no size is given.
    """
    if image_size is not None:
        edge = image_size * 256 // 224
        resize = dict(type='mmpretrain.ResizeEdge', scale=edge, edge='short', backend='pillow', interpolation='bicubic')
        crop = dict(type='mmpretrain.CenterCrop', crop_size=image_size)
        return [dict(type='LoadImage'), resize, crop, dict(type='mmpretrain.PackInputs')]
    loader = config.get('test_dataloader') or config.get('val_dataloader')
    if not loader:
        raise UserError('the config that the backbone was trained with tests no images; give --image-size PIXELS')
    pipeline = [dict(transform) for transform in _innermost(loader['dataset'])['pipeline']]
    # Images in memory are RGB and need no reading.
    others = [transform for transform in pipeline if transform['type'] not in ('LoadImage', 'RGBToBGR')]
    return [dict(type='LoadImage'), *others]


def _innermost(dataset: Mapping) -> Mapping:
    while 'dataset' in dataset:
        dataset = dataset['dataset']
    return dataset


def names_of(dataset: KeyedDataset) -> list[str]:
    """One name per image: its path relative to the data set's folder, or its number where it has no file."""
    root = dataset.dataset.data_root or '.'
    return [str(number) if path is None else os.path.relpath(path, root) for number, path in enumerate(_paths(dataset))]


def labels_of(dataset: KeyedDataset) -> np.ndarray | None:
    """(N,) int64 classes; None where the images have none, or several."""
    labels = [dataset.get_data_info(index).get('gt_label') for index in range(len(dataset))]
    return np.array(labels, dtype=np.int64) if np.isscalar(labels[0]) else None


def content_digest(dataset: KeyedDataset) -> str:
    """What changes when images are added, removed or replaced: a digest of paths, sizes and times of the files."""
    digest = hashlib.sha256(str(len(dataset)).encode())
    for path in _paths(dataset):
        found = os.stat(path) if path is not None and os.path.exists(path) else None
        digest.update(repr((path, found and (found.st_size, found.st_mtime_ns))).encode(errors='surrogateescape'))
    return digest.hexdigest()


def _paths(dataset: KeyedDataset) -> Iterator[str | None]:
    return (dataset.get_data_info(index).get('img_path') for index in range(len(dataset)))


def collate_one_size(samples: Sequence[dict]) -> dict:
    """mmengine's ``default_collate`` for images of one size.

    Raises:
        UserError: if they are not.
    """
    if len({sample['inputs'].shape for sample in samples}) > 1:
        raise UserError(
            'the images are not of one size after preprocessing; give --image-size PIXELS, which crops them'
        )
    return default_collate(samples)
