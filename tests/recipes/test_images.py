"""Which images are extracted, and how they are prepared."""

from pathlib import Path

import numpy as np
import pytest
import torch
from evaluation.composed import composed
from mmengine.config import Config
from mmengine.registry import DefaultScope
from PIL import Image

from mixcl.datasets import KeyedDataset
from mixcl.errors import UserError
from mixcl.evaluation.feature_files import collate_one_size, labels_of, names_of
from mixcl.recipes.images import config_images, image_pipeline, source_images
from mixcl.recipes.prepared import prepared


@pytest.fixture(autouse=True)
def scope() -> None:
    with DefaultScope.overwrite_default_scope('mixcl'):
        yield


def types(images: dict) -> list[str]:
    return [transform['type'] for transform in images['pipeline']]


def test_images_of_a_folder_are_prepared_as_the_config_tests_or_cropped_to_a_size() -> None:
    for size, edge in ((224, 256), (32, 36), (96, 109)):
        _, resize, crop, _ = image_pipeline(Config(), size)
        assert (resize['scale'], resize['interpolation'], crop['crop_size']) == (edge, 'bicubic', size)
    in1k = prepared('mocov3/r50_in1k')
    assert image_pipeline(in1k) == in1k.test_dataloader.dataset.dataset.pipeline
    cifar = dict(pipeline=image_pipeline(prepared('mocov3/r50_cifar10')))
    assert types(cifar) == ['LoadImage', 'mmpretrain.ResizeEdge', 'mmpretrain.CenterCrop', 'mmpretrain.PackInputs']
    digits = image_pipeline(prepared('mocov3/vit-xs4_digits'))
    assert digits[2] == dict(type='mmpretrain.CenterCrop', crop_size=16)  # photos, unlike digits, are not square
    as_they_are = image_pipeline(composed('finetune', 'cifar10'))
    assert [step.get('scale') or step.get('crop_size') for step in as_they_are] == [None, 32, 32, None]
    _, resize, crop, _ = image_pipeline(prepared('patchmix/vit-s16_folder'))
    assert (resize['scale'], crop['crop_size']) == (256, 224)
    with pytest.raises(UserError, match='neither tests images nor trains on crops; give `image_size=PIXELS`'):
        image_pipeline(Config())


def test_a_folder(tmp_path: Path) -> None:
    random = np.random.default_rng(0)
    for name in ('b.png', 'a/z.png', 'a/b/y.png'):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray(random.integers(0, 256, (20, 30, 3), dtype=np.uint8)).save(tmp_path / name)
    dataset = KeyedDataset(source_images(f'folder:{tmp_path}', Config(), image_pipeline(Config(), 14)))
    assert names_of(dataset) == ['a/b/y.png', 'a/z.png', 'b.png'] and labels_of(dataset) is None
    assert dataset[0]['inputs'].shape == (3, 14, 14)


def test_images_of_several_sizes_are_refused() -> None:
    with pytest.raises(UserError, match='not of one size after preprocessing; give `image_size=PIXELS`'):
        collate_one_size([dict(inputs=torch.zeros(3, 9, 8)), dict(inputs=torch.zeros(3, 8, 9))])


def test_the_data_sets_of_a_config() -> None:
    cfg = prepared('configs/patchmix/vit-xs4_digits.py')
    for split, number in (('train', 1437), ('test', 360)):
        images = config_images(cfg, split)
        dataset = KeyedDataset(images)
        assert len(dataset) == number and types(images) == ['mmpretrain.ResizeEdge', 'mmpretrain.PackInputs']
    assert names_of(dataset)[:2] == ['0', '1']
    assert labels_of(dataset)[3] == dataset[3]['data_samples'].gt_label.item()


def test_configs_without_images_or_data() -> None:
    folder_config = prepared('configs/patchmix/vit-s16_folder.py')
    for split in ('train', 'test'):
        with pytest.raises(UserError, match=f'`split={split}`: the config has no test_'):
            config_images(folder_config, split)
    missing = prepared('configs/patchmix/vit-s16_in1k.py', data_root='/nowhere')
    with pytest.raises(UserError, match=r"'/nowhere'.*does not exist"):
        config_images(missing, 'test')
