"""Which images are extracted, how they are prepared, and what tells one set from another."""

import os
from pathlib import Path

import numpy as np
import pytest
import torch
from mmengine.config import Config
from mmengine.registry import DefaultScope
from PIL import Image

from mixcl.datasets import ImageFolder, KeyedDataset
from mixcl.engine.runners.launch import read_config
from mixcl.errors import UserError
from mixcl.evaluation.image_sources import (
    collate_one_size,
    config_images,
    content_digest,
    folder_pipeline,
    labels_of,
    names_of,
)


@pytest.fixture(autouse=True)
def scope() -> None:
    with DefaultScope.overwrite_default_scope('mixcl'):
        yield


def types(pipeline: list[dict]) -> list[str]:
    return [transform['type'] for transform in pipeline]


@pytest.mark.parametrize(('size', 'edge'), [(224, 256), (32, 36), (96, 109)])
def test_the_pipeline_of_a_size(size: int, edge: int) -> None:
    _, resize, crop, _ = folder_pipeline(Config(), size)
    assert (resize['scale'], resize['interpolation'], crop['crop_size']) == (edge, 'bicubic', size)


def test_the_pipeline_of_the_pretraining_config() -> None:
    in1k = Config.fromfile('configs/_base_/datasets/in1k.py')
    pipeline = folder_pipeline(in1k)
    assert pipeline == [dict(transform) for transform in in1k.test_dataloader.dataset.dataset.pipeline]
    cifar = folder_pipeline(Config.fromfile('configs/_base_/datasets/cifar10.py'))
    assert types(cifar) == ['LoadImage', 'mmpretrain.ResizeEdge', 'mmpretrain.CenterCrop', 'mmpretrain.PackInputs']
    with pytest.raises(UserError, match='tests no images; give --image-size PIXELS'):
        folder_pipeline(Config.fromfile('configs/_base_/datasets/folder.py'))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    random = np.random.default_rng(0)
    for name in ('b.png', 'a/z.png', 'a/b/y.png'):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray(random.integers(0, 256, (20, 30, 3), dtype=np.uint8)).save(tmp_path / name)
    (tmp_path / 'a/bad.jpg').write_bytes(b'no image')
    return tmp_path


def test_a_folder(folder: Path) -> None:
    dataset = KeyedDataset(ImageFolder(str(folder), pipeline=folder_pipeline(Config(), 14), test_mode=True))
    assert names_of(dataset) == ['a/b/y.png', 'a/bad.jpg', 'a/z.png', 'b.png'] and labels_of(dataset) is None
    assert dataset[0]['inputs'].shape == (3, 14, 14)


def test_images_of_several_sizes_are_refused() -> None:
    with pytest.raises(UserError, match='not of one size after preprocessing; give --image-size PIXELS'):
        collate_one_size([dict(inputs=torch.zeros(3, 9, 8)), dict(inputs=torch.zeros(3, 8, 9))])


def digest(folder: Path) -> str:
    return content_digest(KeyedDataset(ImageFolder(str(folder), pipeline=[])))


def test_a_digest_changes_with_the_content(folder: Path) -> None:
    first = digest(folder)
    assert digest(folder) == first
    (folder / 'a/bad.jpg').write_bytes(b'still none')
    second = digest(folder)
    os.utime(folder / 'b.png', ns=(1, 1))
    third = digest(folder)
    (folder / 'b.png').rename(folder / 'c.png')
    assert len({first, second, third, digest(folder)}) == 4


def test_the_data_sets_of_a_config() -> None:
    cfg = read_config('configs/patchmix/vit-xs4_digits.py')
    for split, number in (('train', 1437), ('test', 360)):
        dataset, pipeline = config_images(cfg, split)
        assert len(dataset) == number and types(pipeline) == ['mmpretrain.ResizeEdge', 'mmpretrain.PackInputs']
    assert names_of(dataset)[:2] == ['0', '1']
    assert labels_of(dataset)[3] == dataset[3]['data_samples'].gt_label.item()


def test_configs_without_images_or_data() -> None:
    folder_config = read_config('configs/patchmix/vit-s16_folder.py')
    for split in ('train', 'test'):
        with pytest.raises(UserError, match=f'--split {split}: the config has no test_'):
            config_images(folder_config, split)
    missing = read_config('configs/patchmix/vit-s16_in1k.py', data_root='/nowhere')
    with pytest.raises(UserError, match=r"'/nowhere'.*does not exist"):
        config_images(missing, 'test')
