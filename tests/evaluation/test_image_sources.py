"""Which images are extracted, how they are prepared, and what tells one set from another."""

import os
from pathlib import Path

import numpy as np
import pytest
import torch
from mmengine.config import Config
from mmengine.registry import DefaultScope
from PIL import Image

from mixcl.datasets import ImageFolder
from mixcl.engine.runners.launch import read_config
from mixcl.errors import UserError
from mixcl.evaluation.image_sources import (
    ReadableImages,
    collate_readable,
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
    stock = [dict(type='LoadImageFromFile'), dict(type='mmpretrain.PackInputs')]
    cfg = Config(dict(test_dataloader=None, val_dataloader=dict(dataset=dict(type='X', pipeline=stock))))
    assert types(folder_pipeline(cfg)) == ['LoadImage', 'mmpretrain.PackInputs']
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
    dataset = ImageFolder(str(folder), pipeline=folder_pipeline(Config(), 14), test_mode=True)
    names = names_of(dataset)
    assert names == ['a/b/y.png', 'a/bad.jpg', 'a/z.png', 'b.png']
    assert labels_of(dataset) is None
    images = ReadableImages(dataset)
    batch, reasons = collate_readable([images[index] for index in range(len(images))])
    assert reasons == ['', 'not an image', '', '']
    assert batch['inputs'].shape == (3, 3, 14, 14)
    assert torch.equal(batch['inputs'][2], images[3][0]['inputs'])
    assert collate_readable([images[1]]) == (None, ['not an image'])


def test_images_of_several_sizes_are_refused(folder: Path) -> None:
    Image.fromarray(np.zeros((9, 8, 3), dtype=np.uint8)).save(folder / 'c.png')
    pipeline = [dict(type='LoadImage'), dict(type='mmpretrain.PackInputs')]
    images = ReadableImages(ImageFolder(str(folder), pipeline=pipeline, test_mode=True))
    with pytest.raises(UserError, match=r'not of one size .*\(9, 8\) and \(20, 30\) pixels'):
        collate_readable([images[0], images[4]])


def digest(folder: Path) -> str:
    return content_digest(ImageFolder(str(folder), pipeline=[]))


def test_a_digest_changes_with_the_content(folder: Path) -> None:
    first = digest(folder)
    assert digest(folder) == first
    (folder / 'a/bad.jpg').write_bytes(b'still none')
    second = digest(folder)
    os.utime(folder / 'b.png', ns=(1, 1))
    third = digest(folder)
    (folder / 'b.png').rename(folder / 'c.png')
    assert len({first, second, third, digest(folder)}) == 4


@pytest.mark.parametrize(('split', 'number'), [('train', 1437), ('test', 360)])
def test_the_data_set_of_a_config(split: str, number: int) -> None:
    cfg = read_config('configs/patchmix/vit-xs4_digits.py')
    dataset, pipeline = config_images(cfg, split)
    assert len(dataset) == number and types(pipeline) == ['mmpretrain.ResizeEdge', 'mmpretrain.PackInputs']
    assert names_of(dataset)[:2] == ['0', '1']
    labels = labels_of(dataset)
    assert labels.dtype == np.int64 and labels[3] == dataset[3]['data_samples'].gt_label.item()


def test_configs_without_images_or_data() -> None:
    folder_config = read_config('configs/patchmix/vit-s16_folder.py')
    for split in ('train', 'test'):
        with pytest.raises(UserError, match=f'--split {split}: the config has no test_'):
            config_images(folder_config, split)
    missing = read_config('configs/patchmix/vit-s16_in1k.py', data_root='/nowhere')
    with pytest.raises(UserError, match=r"'/nowhere'.*does not exist"):
        config_images(missing, 'test')
