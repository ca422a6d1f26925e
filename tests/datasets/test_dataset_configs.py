"""The configs of the data sets, and the views that methods take of them."""

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest
import torch
from configuration.all_configs import read
from mmcv.transforms import Compose
from mmengine.config import Config
from mmengine.runner import Runner
from mmpretrain.registry import MODELS

from mixcl.datasets import SampleKey, SyntheticImages

FOLDER = Path(__file__).parents[2] / 'configs/_base_/datasets'
SIZES = dict(cifar10=32, cifar100=32, digits=16, fashionmnist=28, in100=224, in1k=224, tinyimagenet=224)
VIEWS = {
    'patchmix/vit-s2_cifar10': (32, 0.1),
    'patchmix/vit-xs4_digits': (16, 0.5),
    'patchmix/vit-xs4_fashionmnist': (28, 0.3),
    'patchmix/vit-s16_folder': (224, 0.05),
    'patchmix/vit-s16_in1k': (224, 0.05),
    'mocov3/vit-s16_in1k': (224, 0.08),
    'mocov3/r50_cifar10': (32, 0.2),
    'mocov3/r50_in1k': (224, 0.2),
    'simclr/r18_tinyimagenet': (224, 0.2),
}
"""Side of the views, and the least part of the image that they show."""


def data(name: str) -> Config:
    return Config.fromfile(FOLDER / f'{name}.py')


def training_pipeline(name: str) -> list[Mapping]:
    return read(name).train_dataloader.dataset.dataset.pipeline


def views(name: str) -> list[list[Mapping]]:
    (multi_view,) = (step for step in training_pipeline(name) if step.type == 'KeyedMultiView')
    return multi_view.transforms


def evaluation_images(config: Config, loader: str) -> Mapping:
    dataset = (config.val_cfg.bank_dataloader if loader == 'bank' else config[f'{loader}_dataloader']).dataset
    return dataset.dataset if dataset.type == 'KeyedDataset' else dataset


def test_every_data_set_is_known_here() -> None:
    assert {path.stem for path in FOLDER.glob('*.py')} == {*SIZES, 'folder'}


@pytest.mark.parametrize('name', [name for name in VIEWS if len(views(name)) == 2])
def test_two_views_differ_only_in_blur_and_solarisation(name: str) -> None:
    first, second = ([step for step in view if step.type != 'mmpretrain.Solarize'] for view in views(name))
    assert len(first) == len(second)
    for left, right in zip(first, second, strict=True):
        blurs = left.type == right.type == 'mmpretrain.GaussianBlur'
        assert ({**left, 'prob': None} == {**right, 'prob': None}) if blurs else left == right


@pytest.mark.parametrize('name', ['patchmix/vit-s16_in1k', 'patchmix/vit-s16_folder', 'patchmix/vit-s2_cifar10'])
def test_the_recipe_of_patchmix(name: str) -> None:
    for view, (blur, solarize) in zip(views(name), [(1.0, 0.0), (0.1, 0.2)], strict=True):
        crop, jitter, grey, blurring, *solarizing, flip = view
        assert [step.type.split('.')[-1] for step in view] == [
            'RandomResizedCrop', 'RandomApply', 'RandomGrayscale', 'GaussianBlur', *['Solarize'] * bool(solarize),
            'RandomFlip',
        ]  # fmt: skip
        assert (crop.backend, crop.interpolation) == ('pillow', 'bicubic')
        assert jitter.prob == 0.8
        amounts = {key: value for key, value in jitter.transforms.items() if key != 'type'}
        assert amounts == dict(brightness=0.4, contrast=0.4, saturation=0.2, hue=0.1, backend='pillow')
        assert (grey.prob, grey.channel_weights) == (0.2, (0.114, 0.587, 0.2989))
        assert (blurring.prob, blurring.magnitude_range, blurring.magnitude_std) == (blur, (0.1, 2.0), 'inf')
        assert all((step.prob, step.thr) == (solarize, 128) for step in solarizing)
        assert flip.prob == 0.5


@pytest.mark.parametrize('name', VIEWS)
def test_training_views_of_an_image(name: str) -> None:
    size, least = VIEWS[name]
    assert tuple(views(name)[0][0].crop_ratio_range) == (least, 1)
    image = SyntheticImages(num_images=1, image_size=40).get_data_info(0)['img']
    results = {'img': image, 'gt_label': 1, 'sample_key': SampleKey(0, 0, 0)}
    packed = Compose(training_pipeline(name))(results)
    assert [tuple(view.shape) for view in packed['inputs']] == [(3, size, size)] * 2
    assert all(view.dtype == torch.uint8 for view in packed['inputs'])
    assert not torch.equal(*packed['inputs'])


@pytest.mark.parametrize('name', SIZES)
def test_evaluation_images(name: str) -> None:
    config, size = data(name), SIZES[name]
    splits = {loader: evaluation_images(config, loader).split for loader in ('val', 'test', 'bank')}
    held_out = 'val' if size == 224 else 'test'
    assert splits == dict(val=held_out, test=held_out, bank='train')
    kinds = {evaluation_images(config, loader).type for loader in splits}
    assert kinds == {config.train_dataloader.dataset.dataset.type}
    assert not config.val_dataloader.drop_last
    assert config.val_evaluator.neighbours == (10, 20)
    assert config.test_evaluator.neighbours == (10, 20, 100, 200)
    image = SyntheticImages(num_images=1, image_size=8 if name == 'digits' else 40).get_data_info(0)['img']
    for loader in splits:
        packed = Compose(evaluation_images(config, loader).pipeline)({'img': image, 'gt_label': 1})
        assert packed['inputs'].shape == (3, size, size)
        assert packed['data_samples'].gt_label.item() == 1


def test_images_of_cifar_are_bgr_until_the_preprocessor() -> None:
    config = data('cifar10')
    rgb = np.full((32, 32, 3), (255, 128, 0), dtype=np.uint8)
    packed = Compose(config.val_dataloader.dataset.pipeline)({'img': rgb})
    assert packed['inputs'][:, 5, 5].tolist() == [0, 128, 255]
    preprocessor = MODELS.build(config.data_preprocessor)
    normalised = preprocessor({'inputs': packed['inputs'][None], 'data_samples': [packed['data_samples']]})['inputs'][0]
    expected = (np.array([255, 128, 0]) / 255 - (0.485, 0.456, 0.406)) / (0.229, 0.224, 0.225)
    assert np.allclose(torch.as_tensor(normalised).flatten(1)[:, 0], expected, atol=1e-4)


def test_a_folder_has_no_evaluation() -> None:
    config = data('folder')
    assert [config[f'{phase}_{part}'] for phase in ('val', 'test') for part in ('dataloader', 'cfg', 'evaluator')] == (
        [None] * 6
    )


def test_loaders_of_the_digits_run() -> None:
    config = data('digits')
    workers = dict(num_workers=0, persistent_workers=False, pin_memory=False)
    train = Runner.build_dataloader({**config.train_dataloader, **workers}, seed=3)
    batch = next(iter(train))
    assert len(train) == 1437 // 128
    assert [tuple(view.shape) for view in batch['inputs']] == [(128, 3, 16, 16)] * 2
    assert {sample.gt_label.item() for sample in batch['data_samples']} == set(range(10))
    assert train.sampler.seed == 3
    for loader, number in ((config.val_dataloader, 360), (config.val_cfg.bank_dataloader, 1437)):
        built = Runner.build_dataloader({**loader, **workers})
        assert sum(len(batch['data_samples']) for batch in built) == number
