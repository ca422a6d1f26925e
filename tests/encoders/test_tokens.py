"""Tokens of backbones: against timm's and torchvision's own ways to them, and against the features of the images."""

import pytest
import torch
from backbones.small_models import MODELS_AND_WIDTHS, images
from backbones.small_models import timm as by_name
from torch import nn
from torchvision.models.feature_extraction import create_feature_extractor

from mixcl.encoders.tokens import cell_size_of, encoded, tokens_of
from mixcl.errors import UserError
from mixcl.registry import MODELS

ARCH = dict(embed_dims=16, num_layers=2, num_heads=2, feedforward_channels=32)
VIT = dict(type='ContrastiveViT', arch=ARCH, img_size=(24, 16), patch_size=4)
TIMM = {name: config for name, (config, _) in MODELS_AND_WIDTHS.items() if config['type'] == 'TimmBackbone'}
TIMM |= dict(
    average=by_name('vit_tiny_patch16_224', img_size=32, depth=2, embed_dim=16, num_heads=2, global_pool='avg'),
    resnet=by_name('resnet10t'),
    naflex=by_name('naflexvit_base_patch16_gap', depth=2, embed_dim=16, num_heads=2),
)
LAST = dict(
    resnet18='layer4', convnext_tiny='features', swin_t='permute', vit_b_32='encoder', densenet121='relu',
    inception_v3='Mixed_7c', maxvit_t='blocks.3',
)  # fmt: skip
"""Nodes of torchvision's feature extractor."""
SIZES = dict(inception_v3=96, maxvit_t=224)
"""Sides of images of those that take none of 64 pixels."""


@pytest.mark.parametrize('name', TIMM)
def test_tokens_are_timms_intermediates(name: str) -> None:
    backbone = MODELS.build(TIMM[name]).eval()
    batch = images(TIMM[name]['arguments'].get('img_size', 64))
    (expected,) = backbone.model.forward_intermediates(
        batch, indices=1, norm=True, output_fmt='NCHW', intermediates_only=True
    )
    found = encoded(backbone, batch)
    torch.testing.assert_close(found.tokens, expected.permute(0, 2, 3, 1), rtol=0, atol=1e-6)
    torch.testing.assert_close(found.features, backbone(batch)[-1])


@pytest.mark.parametrize('name', LAST)
def test_tokens_are_those_of_torchvisions_extractor(name: str) -> None:
    backbone = MODELS.build(dict(type='TorchvisionBackbone', name=name, img_size=64)).eval()
    batch = images(SIZES.get(name, 64), 2)
    expected = create_feature_extractor(backbone.model, {LAST[name]: 'last'})(batch)['last']
    if expected.dim() == 3:
        expected = expected[:, 1:].mT.unflatten(2, (2, 2))
    found = encoded(backbone, batch)
    torch.testing.assert_close(found.tokens, expected.permute(0, 2, 3, 1), rtol=0, atol=1e-6)
    torch.testing.assert_close(found.features, backbone(batch)[-1])


@pytest.mark.parametrize('out_type', ['cls_token', 'featmap', 'avg_featmap'])
@pytest.mark.parametrize('kind', ['ContrastiveViT', 'mmpretrain.VisionTransformer'])
def test_tokens_of_mmpretrain_do_not_depend_on_the_output(kind: str, out_type: str) -> None:
    backbone = MODELS.build(VIT | dict(type=kind, out_type=out_type))
    backbone.eval()
    batch = images(24)[..., :16]
    found = encoded(backbone, batch)
    assert found.tokens.shape == (4, 6, 4, 16) and backbone.out_type == out_type
    (output,) = backbone(batch)
    torch.testing.assert_close(found.features, output.mean(dim=(2, 3)) if out_type == 'featmap' else output)
    expected = MODELS.build(VIT | dict(type=kind, out_type='featmap'))
    expected.load_state_dict(backbone.state_dict(), strict=False)
    expected.eval()
    torch.testing.assert_close(found.tokens, expected(batch)[-1].permute(0, 2, 3, 1))


def test_maps_are_tokens_and_cells_have_a_size() -> None:
    resnet = MODELS.build(dict(type='mmpretrain.ResNet', depth=18, base_channels=8, stem_channels=8))
    resnet.eval()
    batch = images(96)[..., :64]
    torch.testing.assert_close(tokens_of(resnet, batch), resnet(batch)[-1].permute(0, 2, 3, 1))
    sizes = [cell_size_of(module) for module in (resnet, *map(MODELS.build, (VIT, TIMM['swin'], TIMM['dinov3'])))]
    assert sizes == [(32, 32), (4, 4), (8, 8), (16, 16)]


@pytest.mark.parametrize(
    ('name', 'extra', 'cell'),
    [('volo_d1_224', 1, 16), ('tnt_s_patch16_224', 1, 16), ('naflexvit_base_patch16_gap', 4, 16)],
)
def test_models_of_timm_that_tell_little_have_tokens(name: str, extra: int, cell: int) -> None:
    backbone = MODELS.build(by_name(name)).eval()
    size = backbone.model.default_cfg['input_size'][-1]
    assert cell_size_of(backbone) == (cell, cell)
    with torch.no_grad():
        batch = images(size, 1)
        expected = backbone.model.forward_features(batch)[:, extra:].unflatten(1, (size // cell,) * 2)
        torch.testing.assert_close(tokens_of(backbone, batch), expected)


@pytest.mark.parametrize('name', ['pit_ti_224', 'crossvit_9_240'])
def test_class_tokens_alone_and_branches_are_refused(name: str) -> None:
    backbone = MODELS.build(by_name(name)).eval()
    with pytest.raises(UserError, match=r'are no grid over images|of timm has several branches'):
        tokens_of(backbone, images(backbone.model.default_cfg['input_size'][-1], 1))


def test_a_backbone_of_vectors_is_refused() -> None:
    with pytest.raises(UserError, match=r'Sequential gives features of shape \(4, 3072\), and no map'):
        tokens_of(nn.Sequential(nn.Flatten(), nn.Identity()), images())
