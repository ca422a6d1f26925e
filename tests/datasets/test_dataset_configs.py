"""The configs of the data sets, and the views that methods take of them."""

import functools
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest
import torch
from configuration.all_configs import CONFIGS, read
from mmcv.transforms import Compose
from mmengine.config import Config
from mmpretrain.registry import MODELS

from mixcl.errors import UserError
from mixcl.recipes.paths import innermost
from mixcl.recipes.prepared import prepared

FOLDER = Path(__file__).parents[2] / 'configs/_base_/data'
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
"""Side of the views in pixels, and the smallest share of the image's area that they show."""


@functools.cache
def data(name: str) -> Config:
    """Return a recipe on a data set by name."""
    return prepared(CONFIGS['mocov3/r50_cifar10'], cfg_options={'data': name})


def views(name: str) -> list[list[Mapping]]:
    pipeline = read(name).train_dataloader.dataset.dataset.pipeline
    (multi_view,) = (step for step in pipeline if step.type == 'KeyedMultiView')
    return multi_view.transforms


def evaluation_images(config: Config, loader: str) -> Mapping:
    return innermost((config.val_cfg.bank_dataloader if loader == 'bank' else config[f'{loader}_dataloader']).dataset)


def test_every_data_set_is_known_here() -> None:
    tests_alone = {
        'imagenet-a',
        'imagenet-c',
        'imagenet-r',
        'voc07',
        'voc12',
        'masks',
        'emoji_twins',
        'emoji_twins_choice',
    }
    tried_elsewhere = {'folder', 'emoji', 'emoji_choice'}
    assert {path.stem for path in FOLDER.glob('*.py')} == {*SIZES, *tried_elsewhere, *tests_alone}
    for name in tests_alone:
        with pytest.raises(UserError, match=f"data='{name}' is for evaluations by"):
            prepared('patchmix/vit-s16_in1k', cfg_options=dict(data=name))


def test_sizes_of_views_which_differ_only_in_blur_and_solarisation() -> None:
    for name, (size, least) in VIEWS.items():
        kinds = [[step for step in view if step.type != 'mmpretrain.Solarize'] for view in views(name)]
        assert all((kind[0].scale, *kind[0].crop_ratio_range) == (size, least, 1) for kind in kinds), name
        for steps in zip(*kinds, strict=True):
            blurs = all(step.type == 'mmpretrain.GaussianBlur' for step in steps)
            first, *others = ({**step, 'prob': None} if blurs else step for step in steps)
            assert all(other == first for other in others), name


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


def test_evaluation_images() -> None:
    for name, size in SIZES.items():
        config = data(name)
        image = np.zeros((8 if name == 'digits' else 40,) * 2 + (3,), np.uint8)
        held_out = 'val' if size == 224 else 'test'
        for loader, split in dict(val=held_out, test=held_out, bank='train').items():
            images = evaluation_images(config, loader)
            assert (images.split, images.type) == (split, config.train_dataloader.dataset.dataset.type)
            packed = Compose(images.pipeline)({'img': image, 'gt_label': 1})
            assert packed['inputs'].shape == (3, size, size) and packed['data_samples'].gt_label.item() == 1
        assert not config.val_dataloader.drop_last
        assert (config.val_evaluator.neighbours, config.test_evaluator.neighbours) == ((10, 20), (10, 20, 100, 200))


def test_images_of_cifar_are_bgr_until_the_preprocessor() -> None:
    config = data('cifar10')
    rgb = np.full((32, 32, 3), (255, 128, 0), dtype=np.uint8)
    packed = Compose(config.val_dataloader.dataset.pipeline)({'img': rgb})
    assert packed['inputs'][:, 5, 5].tolist() == [0, 128, 255]
    preprocessor = MODELS.build(config.data_preprocessor)
    normalised = preprocessor({'inputs': packed['inputs'][None], 'data_samples': [packed['data_samples']]})['inputs'][0]
    expected = (np.array([255, 128, 0]) / 255 - (0.485, 0.456, 0.406)) / (0.229, 0.224, 0.225)
    assert np.allclose(torch.as_tensor(normalised).flatten(1)[:, 0], expected, atol=1e-4)
