"""A backbone put into the configs of evaluations."""

from pathlib import Path

import pytest
import torch
from mmengine.config import Config
from mmpretrain.models.utils import build_2d_sincos_position_embedding

from mixcl.engine.runners.launch import read_config
from mixcl.errors import UserError
from mixcl.evaluation.adaptation import adapt, image_size
from mixcl.registry import MODELS

EVALUATION = Path(__file__).parents[2] / 'configs/evaluation'
SMALL = dict(
    type='ContrastiveViT',
    arch=dict(embed_dims=48, num_layers=2, num_heads=3, feedforward_channels=96),
    img_size=64,
    patch_size=4,
    fixed_position=True,
    frozen_patch_embed=True,
    drop_path_rate=0.3,
)
SOURCE = Config(dict(data_preprocessor=dict(type='mmpretrain.SelfSupDataPreprocessor', mean=[1, 2, 3], std=[4, 5, 6])))


def adapted(name: str, backbone: dict, **changes: object) -> Config:
    cfg = read_config(EVALUATION / f'{name}.py', changes)
    adapt(cfg, backbone, SOURCE, None)
    return cfg


def test_knn_takes_the_backbone_at_its_own_image_size() -> None:
    cfg = adapted('knn/any_cifar10', SMALL)
    assert cfg.model.backbone.arch.embed_dims == 48
    assert cfg.model.backbone.img_size == 32
    assert cfg.data_preprocessor.mean == [1, 2, 3] and cfg.data_preprocessor.std == [4, 5, 6]
    assert 'drop_path_rate' not in cfg.model.backbone


@pytest.mark.parametrize('name', ['knn/any_cifar10', 'quality/any_cifar10', 'linear/any_cifar10'])
def test_an_untrained_backbone_starts_as_in_its_own_config(name: str) -> None:
    """MoCo v3's position embedding is that of sines and cosines."""
    model = adapted(name, SMALL).model
    backbone = model.backbone.get('backbone', model.backbone)
    of_its_own, random = (MODELS.build(config) for config in (backbone, dict(backbone, fixed_position=False)))
    for model in (of_its_own, random):
        model.init_weights()
    expected = build_2d_sincos_position_embedding((8, 8), 48, cls_token=True)
    assert torch.equal(of_its_own.pos_embed, expected) and not torch.equal(random.pos_embed, expected)
    assert backbone.frozen_patch_embed


def test_a_probe_takes_it_under_its_frozen_features_and_fits_the_head() -> None:
    cfg = adapted('linear/any_digits', SMALL)
    assert cfg.model.backbone.type == 'FrozenFeatures'
    assert cfg.model.backbone.backbone.arch.num_layers == 2
    assert cfg.model.head.in_channels == 48


def test_fine_tuning_keeps_its_own_way_of_training() -> None:
    expected = read_config(EVALUATION / 'finetune/any_digits.py').model.backbone.get('drop_path_rate')
    backbone = adapted('finetune/any_digits', SMALL, **{'model.backbone.drop_path_rate': 0.1}).model.backbone
    assert backbone.drop_path_rate == 0.1 != expected
    assert not backbone.get('frozen_patch_embed') and not backbone.get('fixed_position')


def test_a_resnet_for_a_vision_transformer() -> None:
    cfg = adapted('linear/any_digits', dict(type='mmpretrain.ResNet', depth=18))
    assert cfg.model.head.in_channels == 512
    assert 'img_size' not in cfg.model.backbone.backbone


@pytest.mark.parametrize('norm', [dict(norm_cfg=dict(type='BN', eps=1e-3)), {}])
@pytest.mark.parametrize(('name', 'kind'), [('semi/resnet_in1k', 'mixcl.SyncBatchNorm'), ('linear/r50_in1k', 'BN')])
def test_batch_normalisation_is_of_the_evaluations_kind(name: str, kind: str, norm: dict) -> None:
    backbone = adapted(name, dict(type='mmpretrain.ResNet', depth=50, **norm)).model.backbone
    assert backbone.get('backbone', backbone).norm_cfg == {**norm.get('norm_cfg', {}), 'type': kind}


def test_other_normalisation_stays() -> None:
    groups = dict(type='GN', num_groups=8)
    backbone = adapted('semi/resnet_in1k', dict(type='mmpretrain.ResNet', depth=50, norm_cfg=groups)).model.backbone
    assert backbone.norm_cfg == groups


def test_aps_fine_tunes_with_the_statistics_of_imagenet() -> None:
    source = read_config(EVALUATION.parent / 'aps/vit-t2_cifar10.py')
    cfg = read_config(EVALUATION / 'finetune/vit-t2_cifar10_aps.py')
    expected = dict(cfg.data_preprocessor)
    adapt(cfg, source.model.backbone, source, None)
    assert dict(cfg.data_preprocessor) == expected != dict(source.data_preprocessor)
    assert expected['mean'] == [123.675, 116.28, 103.53]


def test_images_of_a_size_that_a_backbone_cannot_take_are_refused() -> None:
    backbone = dict(type='TIMMViT', model_name='vit_tiny_patch16_224', depth=1)
    with pytest.raises(UserError, match=r'a TIMMViT cannot encode images of 32 pixels'):
        adapted('knn/any_cifar10', backbone)
    assert adapted('knn/any_cifar10', dict(backbone, dynamic_img_size=True)).model.backbone.type == 'TIMMViT'


def test_features_of_several_blocks_widen_the_head() -> None:
    cfg = read_config(EVALUATION / 'linear/any_digits.py')
    cfg.model.backbone.feature = dict(type='LastClassTokens', blocks=2)
    adapt(cfg, SMALL, None, None)
    assert cfg.model.head.in_channels == 96


def test_heads_that_cannot_follow_are_refused() -> None:
    cfg = read_config(EVALUATION / 'linear/any_digits.py')
    cfg.model.head = dict(type='StageProbes', num_classes=10, in_channels=[48, 48], map_channels=[48, 48])
    with pytest.raises(UserError, match=r'features of \[48, 48\] values, but the backbone gives \(48,\)'):
        adapt(cfg, SMALL, None, None)


@pytest.mark.parametrize(
    ('name', 'size'),
    [
        ('knn/any_in1k', 224),
        ('knn/any_cifar100', 32),
        ('knn/any_digits', 16),
        ('linear/r18_cifar10', 224),  # enlarged
        ('svm/any_voc07', 224),
        ('finetune/any_cifar10', 32),  # tested without a crop
        ('semi/any_cifar100', 32),
    ],
)
def test_the_size_of_evaluated_images(name: str, size: int) -> None:
    assert image_size(read_config(EVALUATION / f'{name}.py')) == size


def test_without_a_pipeline_images_are_as_large_as_the_backbone_takes_them() -> None:
    backbone = dict(type='ContrastiveViT', img_size=48)
    assert image_size(Config(dict(model=dict(backbone=backbone), test_dataloader=None))) == 48
    assert image_size(Config(dict(model=dict(backbone=dict(type='mmpretrain.ResNet')), test_dataloader=None))) == 224


def test_fine_tuning_on_images_that_are_not_cropped() -> None:
    assert adapted('finetune/any_cifar10', SMALL).model.backbone.img_size == 32
