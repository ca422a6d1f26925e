"""Settings that follow from the backbone and the projector may be left out of a config, and count where they stand."""

import copy
from typing import Any

import hosts
import masked
import pytest
import torch
from backbones.small_models import timm as by_name

from mixcl.errors import UserError
from mixcl.recipes.prepared import prepared
from mixcl.registry import MODELS, build

FOLLOW = dict(
    neck=('in_channels', 'num_patches', 'patch_size', 'embed_dim', 'encoder_stride'),
    predictor=('in_channels', 'out_channels'),
    objective=('channels',),
    head=('patch_size',),
    mixer=('patch_size', 'cell'),
)
"""Settings that follow from others, by part of a model."""

PREDICTOR = dict(in_channels=128, out_channels=128)
DIGITS: dict[str, dict[str, dict[str, int]]] = dict(
    dino=dict(neck=dict(in_channels=96), objective=dict(num_prototypes=512)),
    ibot=dict(neck=dict(in_channels=96), objective=dict(num_prototypes=512)),
    mae=dict(neck=dict(num_patches=16, patch_size=4, embed_dim=96), head=dict(patch_size=4)),
    mocov3=dict(neck=dict(in_channels=96), predictor=PREDICTOR),
    patchmix=dict(neck=dict(in_channels=96), predictor=PREDICTOR, mixer=dict(patch_size=4)),
    simmim=dict(neck=dict(in_channels=96, encoder_stride=4), head=dict(patch_size=4)),
    swav=dict(neck=dict(in_channels=96), objective=dict(channels=128)),
)
"""What follows from the rest of a method's config of digits, by hand."""


def without_what_follows(model: dict) -> dict:
    """Return the config of a model without any setting that follows from another."""
    bare: dict[str, Any] = copy.deepcopy(dict(model))
    for place, names in FOLLOW.items():
        for name in names:
            (bare.get(place) or {}).pop(name, None)
    for objective in (bare.get('objective') or {}, (bare.get('patches') or {}).get('objective') or {}):
        if objective.get('type') == 'DINODistillation':
            objective.pop('num_prototypes', None)
    for queue in (bare.get('memory') or {}).values():
        queue.pop('channels', None)
    return bare


def assert_equal_without(model: dict) -> None:
    """Build a model with and without what follows: weights drawn from one seed, and settings, are the same."""
    bare = without_what_follows(model)
    assert bare != model
    with_all, derived = (build(MODELS, copy.deepcopy(config)) for config in seeded(model, bare))
    torch.testing.assert_close(derived.state_dict(), with_all.state_dict(), rtol=0, atol=0)
    assert list(derived.state_dict()) == list(with_all.state_dict())
    assert settings_of(derived) == settings_of(with_all)


def seeded(*configs: dict) -> Any:
    for config in configs:
        torch.manual_seed(0)
        yield config


def settings_of(model: Any) -> list:
    mixer, head = getattr(getattr(model, 'recipe', None), 'mixer', None), getattr(model, 'head', None)
    parts = [*getattr(mixer, 'mixers', [mixer]), head]
    return [[getattr(part, name, None) for name in ('patch_size', 'cell')] for part in parts]


@pytest.mark.parametrize('method', DIGITS)
def test_configs_say_nothing_of_what_follows(method: str) -> None:
    """The digits' ViT has 16 patches of 4 pixels, 96 channels, and heads of 128, DINO's of 512."""
    model = prepared(f'configs/{method}/vit-xs4_digits.py').model.to_dict()
    assert without_what_follows(model) == model
    for part, names in DIGITS[method].items():
        model[part] = {**model[part], **names}
    assert_equal_without(model)


@pytest.mark.parametrize('host', hosts.HOSTS)
@pytest.mark.parametrize('backbone', hosts.BACKBONES)
def test_hosts_without_what_follows_build_the_same_model(host: str, backbone: str) -> None:
    if host != 'ibot' or backbone == 'vit':
        assert_equal_without(hosts.HOSTS[host](None, backbone))


def test_mixers_cut_where_the_backbone_does() -> None:
    model = hosts.build(hosts.moco_v3(dict(type='Choice', mixers=[dict(type='PatchMix'), dict(type='RegionSwap')])))
    assert settings_of(model)[:2] == [[2, None], [None, 4]]
    model = hosts.build(hosts.moco_v3(dict(type='PatchMix', patch_size=4)))
    assert model.recipe.mixer.patch_size == 4, 'what is written counts'
    with pytest.raises(UserError, match=r'PatchMix: patch_size is missing, and model\.backbone has no patches'):
        hosts.build(hosts.moco_v3(dict(type='PatchMix'), 'resnet'))


@pytest.mark.parametrize('algorithm', ['mae', 'simmim'])
def test_decoders_of_masked_images(algorithm: str) -> None:
    config = masked.ALGORITHMS[algorithm]
    assert_equal_without(config)
    name = dict(mae='embed_dim', simmim='in_channels')[algorithm]
    wrong = config | dict(neck=config['neck'] | {name: 32})
    with pytest.raises(UserError, match=rf'model\.neck\.{name}=32, but from model\.backbone follows 24; leave it out'):
        build(MODELS, wrong)


def test_the_decoder_of_a_hierarchical_transformer() -> None:
    backbone = dict(type='mmpretrain.SimMIMSwinTransformer', arch='tiny')
    head = masked.ALGORITHMS['simmim']['head'] | dict(patch_size=4)
    neck = dict(type='mmpretrain.SimMIMLinearDecoder', in_channels=768, encoder_stride=32)
    assert_equal_without(dict(type='SimMIM', backbone=backbone, neck=neck, head=head))


def test_a_backbone_that_cannot_be_asked_needs_the_width() -> None:
    fixed = by_name('vit_tiny_patch16_224', img_size=112, depth=1) | dict(in_channels=4)
    config = without_what_follows(hosts.moco_v3())
    assert hosts.build(config, backbone=fixed).neck_channels == 192
    nowhere = dict(type='ImportedBackbone', path='torch.nn:Linear', arguments=dict(in_features=5, out_features=3))
    with pytest.raises(UserError, match=r'width of the features of ImportedBackbone is unknown.*neck\.in_channels'):
        hosts.build(config, backbone=nowhere)
