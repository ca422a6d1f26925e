"""The images whose features are extracted: those of a folder, or of a config's data set."""

import hashlib
import math
import os
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from mmengine.config import Config
from mmengine.dataset import BaseDataset, default_collate
from torch.utils.data import Dataset

from mixcl.configuration import check_data_roots
from mixcl.datasets import KeyedDataset
from mixcl.datasets.unreadable import UnreadableImage
from mixcl.errors import UserError

Pipeline = list[dict[str, Any]]


def config_images(cfg: Config, split: str) -> tuple[BaseDataset, Pipeline]:
    """The data set that a config evaluates, and its pipeline.

    Args:
        cfg: with a ``test_dataloader``, and for 'train' a ``test_cfg`` with a ``bank_dataloader``: the training images
            without augmentation.
        split: 'train' or 'test'.

    Raises:
        UserError: if the config has none, or the data are not there.
    """
    loader = cfg.get('test_dataloader') if split == 'test' else (cfg.get('test_cfg') or {}).get('bank_dataloader')
    if not loader:
        place = 'test_dataloader' if split == 'test' else 'test_cfg.bank_dataloader, the training images as they are'
        raise UserError(f'--split {split}: the config has no {place}')
    check_data_roots(Config(dict(test_dataloader=loader)))
    dataset = loader['dataset']
    while dataset['type'] == 'KeyedDataset':
        dataset = dataset['dataset']
    return KeyedDataset(dataset).dataset, dataset['pipeline']


def folder_pipeline(config: Config, image_size: int | None = None) -> Pipeline:
    """How images of a folder are prepared for the backbone of a config.

    Args:
        config: of the pretraining; as it tests (else validates), so are the images prepared.
        image_size: instead, resize the short edge to 256/224 of this and crop the centre, as the papers do.

    Raises:
        UserError: if the config does not test, and no size is given.
    """
    if image_size is not None:
        edge = math.floor(image_size * 256 / 224)
        resize = dict(type='mmpretrain.ResizeEdge', scale=edge, edge='short', backend='pillow', interpolation='bicubic')
        crop = dict(type='mmpretrain.CenterCrop', crop_size=image_size)
        return [dict(type='LoadImage'), resize, crop, dict(type='mmpretrain.PackInputs')]
    for section in ('test_dataloader', 'val_dataloader'):
        dataset = (config.get(section) or {}).get('dataset')
        while isinstance(dataset, Mapping) and 'dataset' in dataset:
            dataset = dataset['dataset']
        if dataset and dataset.get('pipeline'):
            return _reading_files(dataset['pipeline'])
    raise UserError('the config that the backbone was trained with tests no images; give --image-size PIXELS')


def _reading_files(pipeline: Sequence[Mapping[str, Any]]) -> Pipeline:
    """The pipeline of a data set in memory, for files."""
    kept = [dict(transform) for transform in pipeline if transform['type'] != 'RGBToBGR']
    loads = kept[0]['type'].rpartition('.')[2] in ('LoadImage', 'LoadImageFromFile')
    return kept if loads and kept[0]['type'] == 'LoadImage' else [dict(type='LoadImage'), *kept[loads:]]


def names_of(dataset: BaseDataset) -> list[str]:
    """One name per image: its path relative to the data set's folder, or its number where it has no file."""
    root = dataset.data_root or '.'
    return [str(number) if path is None else os.path.relpath(path, root) for number, path in enumerate(_paths(dataset))]


def labels_of(dataset: BaseDataset) -> np.ndarray | None:
    """(N,) int64 classes; None where the images have none, or several."""
    if not np.isscalar(dataset.get_data_info(0).get('gt_label')):
        return None
    return np.array([dataset.get_data_info(index)['gt_label'] for index in range(len(dataset))], dtype=np.int64)


def content_digest(dataset: BaseDataset) -> str:
    """What changes when images are added, removed or replaced: a digest of paths, sizes and times of the files."""
    digest = hashlib.sha256(str(len(dataset)).encode())
    for path in _paths(dataset):
        found = os.stat(path) if path is not None and os.path.exists(path) else None
        mark = (found.st_size, found.st_mtime_ns) if found else ()
        digest.update(repr((path, *mark)).encode(errors='surrogateescape'))
    return digest.hexdigest()


def _paths(dataset: BaseDataset) -> Iterator[str | None]:
    return (dataset.get_data_info(index).get('img_path') for index in range(len(dataset)))


class ReadableImages(Dataset):
    """Samples of a data set, or the reasons why there are none: (sample, '') or (None, reason)."""

    def __init__(self, dataset: BaseDataset) -> None:
        self.dataset = dataset

    def __len__(self) -> int:
        return len(self.dataset)

    def __getitem__(self, index: int) -> tuple[dict | None, str]:
        try:
            return self.dataset[index], ''
        except UnreadableImage as error:
            return None, error.note.reason


def collate_readable(samples: Sequence[tuple[dict | None, str]]) -> tuple[dict | None, list[str]]:
    """The readable images of a batch as mmengine collates them (None if there are none), and all reasons.

    Raises:
        UserError: if the images are not of one size.
    """
    readable = [sample for sample, _ in samples if sample is not None]
    sizes = sorted({tuple(sample['inputs'].shape[1:]) for sample in readable})
    if len(sizes) > 1:
        raise UserError(
            f'the images are not of one size after preprocessing ({sizes[0]} and {sizes[-1]} pixels, for example); '
            'give --image-size PIXELS, which crops them'
        )
    return default_collate(readable) if readable else None, [reason for _, reason in samples]
