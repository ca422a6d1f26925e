"""A backbone put into the configs of evaluations."""

import pytest
import torch
from evaluation.composed import CONFIGS, composed, composed_facts
from mmengine.config import Config
from mmpretrain.models.utils import build_2d_sincos_position_embedding

from mixcl.errors import UserError
from mixcl.recipes.images import image_size
from mixcl.recipes.making import made
from mixcl.recipes.paths import walk
from mixcl.recipes.prepared import prepared
from mixcl.registry import MODELS

SMALL = dict(
    type='ContrastiveViT',
    arch=dict(embed_dims=48, num_layers=2, num_heads=3, feedforward_channels=96),
    img_size=64,
    patch_size=4,
    fixed_position=True,
    frozen_patch_embed=True,
    drop_path_rate=0.3,
)
RESNET = dict(type='mmpretrain.ResNet', depth=18)
SOURCE = Config(dict(data_preprocessor=dict(type='mmpretrain.SelfSupDataPreprocessor', mean=[1, 2, 3], std=[4, 5, 6])))


def test_knn_takes_the_backbone_at_its_own_image_size() -> None:
    cfg = composed('knn', 'cifar10', backbone=SMALL, source=SOURCE)
    assert cfg.model.backbone.arch.embed_dims == 48
    assert cfg.model.backbone.img_size == 32
    assert cfg.data_preprocessor.mean == [1, 2, 3] and cfg.data_preprocessor.std == [4, 5, 6]
    assert 'drop_path_rate' not in cfg.model.backbone


def test_transparent_images_are_shown_on_the_background_of_the_pretraining() -> None:
    load = dict(type='LoadImage', background=(1, 2, 3))
    source = Config(dict(SOURCE, train_dataloader=dict(dataset=dict(dataset=dict(pipeline=[load])))))
    for protocol in ('knn', 'linear'):
        cfg = composed(protocol, 'in1k', backbone=SMALL, source=source)
        steps = [step for _, step in walk(cfg.to_dict()) if isinstance(step, dict) and step.get('type') == 'LoadImage']
        assert len(steps) >= 2 and all(step == load for step in steps)
    for damaged in (3, dict(dataset=3), dict(dataset=dict(pipeline=[dict(load, background=3)]))):
        with pytest.raises(UserError, match='the data set in the config of the checkpoint'):
            composed_facts('knn', 'in1k', backbone=SMALL, source=Config(dict(SOURCE, train_dataloader=damaged)))


@pytest.mark.parametrize('protocol', ['knn', 'quality', 'linear'])
def test_an_untrained_backbone_starts_as_in_its_own_config(protocol: str) -> None:
    """MoCo v3's position embedding consists of sines and cosines."""
    model = composed(protocol, 'cifar10', backbone=SMALL).model
    backbone = model.backbone.get('backbone', model.backbone)
    of_its_own, random = (MODELS.build(config) for config in (backbone, dict(backbone, fixed_position=False)))
    for model in (of_its_own, random):
        model.init_weights()
    expected = build_2d_sincos_position_embedding((8, 8), 48, cls_token=True)
    assert torch.equal(of_its_own.pos_embed, expected) and not torch.equal(random.pos_embed, expected)
    assert backbone.frozen_patch_embed


def test_a_probe_takes_it_under_its_frozen_features_and_fits_the_head() -> None:
    cfg = composed('linear', backbone=SMALL)
    assert cfg.model.backbone.type == 'FrozenFeatures'
    assert cfg.model.backbone.backbone.arch.num_layers == 2
    assert cfg.model.head.in_channels == 48
    resnet = composed('linear', backbone=RESNET).model
    assert resnet.head.in_channels == 512 and 'img_size' not in resnet.backbone.backbone
    for feature, head, expected in (
        (dict(type='LastClassTokens', blocks=2), {}, 96),
        (dict(type='Output'), dict(in_channels=48), 48),
    ):
        facts = composed_facts('linear', backbone=SMALL)
        facts.model.backbone.feature = feature
        facts.model.head.update(head)
        assert made(facts, 1).model.head.in_channels == expected
    facts.model.head = dict(type='StageProbes', num_classes=10, in_channels=[48, 49], map_channels=[48, 48])
    with pytest.raises(UserError, match=r'features with \[48, 49\] channels, but the backbone gives \(48,\)'):
        made(facts, 1)


def test_fine_tuning_has_its_own_way_of_training() -> None:
    backbone = composed('finetune', 'cifar10', backbone=SMALL).model.backbone
    assert (backbone.drop_path_rate, backbone.frozen_patch_embed, backbone.fixed_position) == (0.1, False, False)
    assert backbone.img_size == 32  # though it is tested without a crop


def test_batch_normalisation_is_of_the_recipes_kind_and_other_normalisation_stays() -> None:
    for protocol, kind in (('semi', 'mixcl.SyncBatchNorm'), ('linear', 'BN')):
        for norm, expected in (
            ({}, dict(type=kind)),
            (dict(type='BN', eps=1e-3), dict(type=kind, eps=1e-3)),
            (dict(type='GN', num_groups=8), dict(type='GN', num_groups=8)),
        ):
            backbone = dict(RESNET, norm_cfg=norm) if norm else RESNET
            found = composed(protocol, 'in1k', backbone=backbone).model.backbone
            assert found.get('backbone', found).norm_cfg == expected


def test_aps_fine_tunes_with_the_statistics_of_imagenet() -> None:
    own = prepared(CONFIGS / 'aps/vit-t2_cifar10.py').data_preprocessor
    found = composed('finetune', 'cifar10', 'aps/vit-t2_cifar10').data_preprocessor
    assert found.mean == [123.675, 116.28, 103.53] != own.mean
    assert composed('linear', 'cifar10', 'aps/vit-t2_cifar10').data_preprocessor.mean == own.mean


def test_mixco_transfers_with_the_statistics_of_the_data_set() -> None:
    name = 'mixco/r18_tinyimagenet_mocov2'
    for data, mean, deviation in (('cifar10', 0.4914, 0.2023), ('cifar100', 0.5071, 0.2675)):
        found = composed('linear', data, name).data_preprocessor
        assert (found.mean[0], found.std[0]) == pytest.approx((255 * mean, 255 * deviation))
    assert composed('knn', 'cifar10', name).data_preprocessor.mean[0] == 123.675


def test_heads_of_patchmix_and_aps_start_as_torch_draws_them() -> None:
    for protocol, name, deviation in (
        ('linear', 'patchmix/vit-t2_cifar10', (3 * 192) ** -0.5),
        ('finetune', 'patchmix/vit-t2_cifar10', (3 * 192) ** -0.5),
        ('finetune', 'aps/vit-t2_cifar10', (3 * 192) ** -0.5),
        ('supervised', 'aps/vit-t2_cifar10', (3 * 192) ** -0.5),
        ('linear', 'mixco/r18_tinyimagenet_mocov2', 0.01),
    ):
        head = MODELS.build(dict(composed(protocol, 'cifar10', name).model.head, in_channels=192))
        head.init_weights()
        assert head.fc.weight.std().item() == pytest.approx(deviation, rel=0.1), (protocol, name)
        assert head.fc.bias.any() == (deviation != 0.01)


def test_images_of_a_size_that_a_backbone_cannot_take_are_refused() -> None:
    backbone = dict(type='TimmBackbone', name='vit_tiny_patch16_224', arguments=dict(depth=1))
    with pytest.raises(UserError, match=r'a TimmBackbone cannot encode images of 28 pixels'):
        composed('linear', 'fashionmnist', backbone=backbone)


def test_without_a_pipeline_images_are_as_large_as_the_backbone_takes_them() -> None:
    backbone = dict(type='ContrastiveViT', img_size=48)
    assert image_size(Config(dict(model=dict(backbone=backbone), test_dataloader=None))) == 48
    assert image_size(Config(dict(model=dict(backbone=RESNET), test_dataloader=None))) == 224
    assert image_size(composed('svm', 'voc07')) == 224  # its last step makes squares
    lying = dict(backbone, img_size=(96, 160))
    assert image_size(Config(dict(model=dict(backbone=lying), test_dataloader=None))) == (96, 160)
    crop = dict(dataset=dict(pipeline=[dict(type='CenterCrop', crop_size=(160, 96)), dict(type='PackInputs')]))
    cfg = Config(dict(model=dict(backbone=RESNET), test_dataloader=crop))
    assert image_size(cfg) == (96, 160)  # mmcv counts (width, height)
