"""Patches that built backbones have, and the image sizes that configs give them."""

import pytest
import timm
from backbones.small_models import VIT, images
from backbones.small_models import timm as by_name

from mixcl.backbones.patch_size import patch_size_of, plain_patch_size
from mixcl.errors import UserError
from mixcl.registry import MODELS

ARCH = dict(embed_dims=16, num_layers=1, num_heads=2, feedforward_channels=32)
SWIN = dict(img_size=32, embed_dim=8, depths=(1, 2), num_heads=(1, 2), window_size=4)
PATCHES = [
    (dict(type='ContrastiveViT', arch=ARCH, img_size=8, patch_size=2), 2, 2),
    (dict(type='mmpretrain.VisionTransformer', arch=ARCH, img_size=28, patch_size=14), 14, 14),
    (dict(type='mmpretrain.BEiTViT', arch=ARCH, img_size=32, patch_size=8), 8, 8),
    (dict(type='mmpretrain.SwinTransformer', arch='tiny'), 4, None),
    (dict(type='mmpretrain.ResNet', depth=18), None, None),
    (by_name('vit_tiny_patch16_224', **VIT), 16, 16),
    (by_name('vit_small_patch14_dinov2', **VIT | dict(img_size=28)), 14, 14),
    (by_name('naflexvit_base_patch16_gap', depth=1), 16, 16),
    (by_name('swin_tiny_patch4_window7_224', **SWIN), 4, None),
    (by_name('convnext_atto'), None, None),
    (dict(type='TorchvisionBackbone', name='vit_b_32'), 32, 32),
]


@pytest.mark.parametrize(('config', 'embedded', 'plain'), PATCHES, ids=lambda value: str(value)[:60])
def test_patches(config: dict, embedded: int | None, plain: int | None) -> None:
    backbone = MODELS.build(config)
    assert (patch_size_of(backbone), plain_patch_size(backbone)) == (embedded, plain)


@pytest.mark.parametrize(
    ('name', 'arguments', 'taken'),
    [
        ('vit_tiny_patch16_224', dict(depth=1), dict(img_size=96, dynamic_img_size=True)),
        ('deit_tiny_distilled_patch16_224', dict(depth=1), dict(img_size=96, dynamic_img_size=True)),
        ('vit_tiny_patch16_224', dict(depth=1, img_size=64, dynamic_img_size=False), {}),
        ('naflexvit_base_patch16_gap', dict(depth=1), dict(img_size=96)),
        ('resnet18', {}, {}),
        ('convnext_atto', {}, {}),
    ],
)
def test_timm_gets_the_size_of_images_where_it_takes_one(name: str, arguments: dict, taken: dict) -> None:
    backbone = MODELS.build(by_name(name, **arguments) | dict(img_size=96, drop_path_rate=0.1))
    assert backbone.arguments == arguments | taken
    reference = timm.create_model(name, num_classes=0, **taken | arguments)
    states = backbone.model.state_dict(), reference.state_dict()
    assert len({tuple((key, value.shape) for key, value in state.items()) for state in states}) == 1
    if name != 'vit_tiny_patch16_224' or taken:  # local crops, too
        assert backbone.eval()(images(48, batch=1))[0].shape[0] == 1


def test_drop_path_is_given_to_models_that_take_it() -> None:
    for config in (by_name('naflexvit_base_patch16_gap', depth=2), by_name('vit_tiny_patch16_224', depth=2)):
        blocks = MODELS.build(config | dict(drop_path_rate=0.1)).model.blocks
        assert blocks[-1].drop_path1.drop_prob == pytest.approx(0.1)
    assert MODELS.build(by_name('dla46_c') | dict(drop_path_rate=0.1)).model is not None


def test_torchvision_gets_the_size_of_images() -> None:
    vit = dict(type='TorchvisionBackbone', name='vit_b_32')
    assert MODELS.build(vit | dict(img_size=64)).model.encoder.pos_embedding.shape[1] == 1 + 4
    assert MODELS.build(vit | dict(img_size=(64, 64), arguments=dict(image_size=96))).model.image_size == 96
    MODELS.build(dict(type='TorchvisionBackbone', name='resnet18', img_size=64))
    with pytest.raises(UserError, match=r'vit_b_32 takes square images only, not img_size=\(64, 32\)'):
        MODELS.build(vit | dict(img_size=(64, 32)))
