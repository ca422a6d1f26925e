"""The weights of every kind of network in timm give its features in the plain network, or are refused."""

import re
from collections.abc import Iterator
from typing import Any

import pytest
import timm
import torch
from torch import Tensor, nn
from weights import other_libraries as others

from mixcl.errors import UserError
from mixcl.registry import MODELS
from mixcl.weights import PretrainedBackbone, load_pretrained

FAMILIES = {
    'vit': ('vision_transformer', 'eva', 'deit', 'beit', 'vision_transformer_relpos', 'vision_transformer_hybrid'),
    'resnet': ('resnet', 'resnest', 'res2net', 'senet', 'sknet'),
    'convnext': ('convnext',),
    'swin': ('swin_transformer', 'swin_transformer_v2', 'swin_transformer_v2_cr'),
}
NOT_IN_WEIGHTS = {
    'vit': {'vit_base_patch16_clip_quickgelu_224'},
    'resnet': {'resnetaa50', 'resnetblur18', 'resnetblur50'},
}
"""Models with other activations or pooling: every name and shape is the plain network's."""

LOADED = {
    'vit': {'test_vit', 'vit_small_patch8_224', 'vit_base_patch16_224_miil'} | {'vit_xsmall_patch16_clip_224'},
    'resnet': {'resnet18', 'resnet26'},
    'convnext': {'convnext_atto', 'convnext_tiny'},
    'swin': {'swin_tiny_patch4_window7_224'},
}
"""Some models that fit."""


def smallest_of_each_kind(family: str) -> list[str]:
    """Return models by kind: names of weights (whatever the block's number) and classes of layers."""
    found: dict[object, tuple[int, str]] = {}
    for name in (name for module in FAMILIES[family] for name in timm.list_models(module=module)):
        with torch.device('meta'):
            model = timm.create_model(name)
        parts = {*model.state_dict(), *(f'{key} {type(part).__name__}' for key, part in model.named_modules())}
        kind = type(model), frozenset(re.sub(r'\.\d+', '.*', part) for part in parts)
        size = sum(parameter.numel() for parameter in model.parameters())
        found[kind] = min(found.get(kind, (size, name)), (size, name))
    return [name for _, name in found.values()]


def made(family: str, name: str) -> Any:
    """Build the model, with fewer blocks where possible."""
    with torch.device('meta'):
        whole: Any = timm.create_model(name)
    changes: dict[str, Any] = dict(depth=2) if family == 'vit' else {}
    if family == 'resnet':
        changes = dict(layers=(3, 4, 6, 3) if hasattr(whole.layer1[0], 'conv3') else (2, 2, 2, 2))
    try:
        model = timm.create_model(name, num_classes=0, **changes)
    except (AssertionError, TypeError):  # settings per block; fixed numbers of blocks
        model = timm.create_model(name, num_classes=0)
    return others.randomised(model)


def plain_backbones(family: str, other: Any) -> Iterator[dict]:
    """Yield configs of the plain networks of a model's size."""
    if family == 'vit':
        block, width, images = other.blocks[0], other.embed_dim, dict(img_size=224, patch_size=16)
        if hasattr(other.patch_embed, 'patch_size'):
            images = dict(img_size=other.patch_embed.img_size[0], patch_size=other.patch_embed.patch_size[0])
        heads, depth = getattr(getattr(block, 'attn', None), 'num_heads', 1), len(other.blocks)
        heads = heads if width % heads == 0 else 1  # heads of another width, which no plain network has
        hidden = getattr(getattr(getattr(block, 'mlp', None), 'fc1', None), 'out_features', 4 * width)
        arch = dict(embed_dims=width, num_layers=depth, num_heads=heads, feedforward_channels=hidden)
        norm, pre_norm = dict(type='LN', eps=getattr(other.norm, 'eps', 1e-6)), 'norm_pre.weight' in other.state_dict()
        for fixed in (False, True):
            settings = dict(type='ContrastiveViT', arch=arch, norm_cfg=norm, pre_norm=pre_norm, fixed_position=fixed)
            yield settings | images
        same = dict(embed_dim=width, depth=depth, num_heads=heads, mlp_ratio=hidden / width, pre_norm=pre_norm)
        name = f'vit_base_patch16_{"clip_" * (norm["eps"] == 1e-5)}224'
        yield dict(type='TimmBackbone', name=name, arguments=images | same)
    elif family == 'resnet':
        yield dict(type='mmpretrain.ResNet', depth=50 if hasattr(other.layer1[0], 'conv3') else 18)
    elif family == 'convnext':
        depths = [len(stage.blocks) for stage in other.stages]
        channels = [stage.blocks[-1].conv_dw.out_channels for stage in other.stages]
        for name in ('convnext_atto', 'convnext_tiny'):
            yield dict(type='TimmBackbone', name=name, arguments=dict(depths=depths, dims=channels))
        yield dict(type='mmpretrain.ConvNeXt', arch=dict(depths=depths, channels=channels))
    else:
        yield dict(type='TimmBackbone', name='swin_tiny_patch4_window7_224')
        yield dict(type='mmpretrain.SwinTransformer', arch='tiny')


@torch.no_grad()
def outputs(model: Any, images: Tensor) -> Tensor:
    """Return the class token or the maps before any head."""
    model = getattr(model, 'model', model)
    found = model.forward_features(images) if hasattr(model, 'forward_features') else model(images)[-1]
    return found[:, 0] if found.dim() == 3 else found


def differences(family: str, name: str) -> list[float]:
    """Return how much features differ, as a share of the largest, in networks that do not refuse the weights."""
    other, found = made(family, name), []
    state, size = other.state_dict(), 64 if family in ('resnet', 'convnext') else other.pretrained_cfg['input_size'][-1]
    for config in plain_backbones(family, other):
        own: nn.Module = MODELS.build(config)
        own.eval()
        try:
            load_pretrained(own, PretrainedBackbone('some.pth', 'online', state))
        except UserError:
            continue
        images = torch.randn(2, 3, size, size, generator=torch.Generator().manual_seed(0))
        expected = outputs(other, images)
        found.append(float((outputs(own, images) - expected).abs().max() / expected.abs().max()))
    return found


@pytest.mark.long
@pytest.mark.parametrize('family', FAMILIES)
def test_features_are_equal_or_weights_are_refused(family: str) -> None:
    found = {name: differences(family, name) for name in smallest_of_each_kind(family)}
    unlike = {name for name, values in found.items() if any(value > 1e-4 for value in values)}
    assert unlike == NOT_IN_WEIGHTS.get(family, set()), found
    assert {name for name, values in found.items() if values} - unlike >= LOADED[family]
    assert len(found) > len(LOADED[family])
