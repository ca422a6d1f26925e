"""Initialisation of MoCo v3, which PatchMix and SDMP share, and of DINO and APS."""

import math

import pytest
import torch
from configuration.all_configs import read

from mixcl.registry import MODELS

ARCH = dict(embed_dims=64, num_layers=2, num_heads=4, feedforward_channels=256)


def build(**changes):
    model = MODELS.build(dict(type='ContrastiveViT', arch=ARCH, img_size=32, patch_size=4, **changes))
    model.init_weights()
    return model


def assert_uniform(weight: torch.Tensor, bound: float) -> None:
    assert weight.abs().max() <= bound
    torch.testing.assert_close(weight.std(), torch.tensor(bound / math.sqrt(3)), rtol=0.05, atol=0)


def test_linear_layers_are_xavier_uniform_and_qkv_is_three_matrices():
    layer = build().layers[0]
    assert_uniform(layer.attn.qkv.weight, math.sqrt(6 / (64 + 64)))
    assert_uniform(layer.attn.proj.weight, math.sqrt(6 / (64 + 64)))
    assert_uniform(layer.ffn.layers[0][0].weight, math.sqrt(6 / (64 + 256)))
    assert not any(bias.any() for name, bias in build().named_parameters() if name.endswith('qkv.bias'))


def test_patch_embedding_and_tokens():
    model = build()
    assert_uniform(model.patch_embed.projection.weight, math.sqrt(6 / (3 * 4 * 4 + 64)))
    assert 0 < model.cls_token.abs().max() < 1e-5
    assert abs(model.pos_embed.std().item() - 0.02) < 0.002 and model.pos_embed.requires_grad


def test_fixed_position_and_frozen_patch_embedding_are_not_trained():
    model = build(fixed_position=True, frozen_patch_embed=True)
    assert not model.pos_embed.requires_grad and not model.patch_embed.projection.weight.requires_grad
    assert not model.pos_embed[:, 0].any(), 'the class token has no position'
    torch.testing.assert_close(model.pos_embed[0, 1:].square().sum(1), torch.full((64,), 32.0))  # sin^2 + cos^2


def test_fixed_positions_of_images_that_are_not_square():
    model = MODELS.build(dict(type='ContrastiveViT', arch=ARCH, img_size=(8, 16), patch_size=4, fixed_position=True))
    model.init_weights()
    first, right, *_, below = model.pos_embed[0, 1:6]
    torch.testing.assert_close(torch.dist(first, right), torch.dist(first, below))


# standard deviations of the class token, qkv, the second layer of the MLP and the patch embedding
@pytest.mark.parametrize(
    ('name', 'expected'),
    [
        ('mocov3/vit-t2_cifar10', (1e-6, 0.0722, 0.0456, 0.099)),
        ('dino/vit-t2_cifar10', (0.02, 0.02, 0.02, 0.167)),
        ('aps/vit-t2_cifar10', (0.02, 0.042, 0.021, 0.167)),
    ],
)
def test_every_host_starts_as_its_authors_code(name: str, expected: tuple[float, ...]) -> None:
    torch.manual_seed(0)
    backbone = read(name).model.backbone
    model = MODELS.build({**backbone, 'arch': {**backbone.arch, 'num_layers': 1}})
    model.init_weights()
    (block,) = model.layers
    weights = (model.cls_token, block.attn.qkv.weight, block.ffn.layers[1].weight, model.patch_embed.projection.weight)
    assert [weight.std().item() for weight in weights] == pytest.approx(expected, rel=0.1)
    assert block.ffn.layers[1].bias.any() == (name[:3] == 'aps')
    assert model.ln1.eps == (1e-5 if name[:3] == 'aps' else 1e-6)


def test_the_class_token_of_aps_has_no_position() -> None:
    model = MODELS.build(dict(type='APSViT', arch=ARCH, img_size=32, patch_size=4))
    model.init_weights()
    model(torch.randn(2, 3, 32, 32), tokens=torch.tensor([[0, 5]] * 2))[0].square().sum().backward()
    assert not model.pos_embed[:, 0].any() and not model.pos_embed.grad[:, 0].any()
    assert model.pos_embed.grad[:, [1, 6]].any() and model.cls_token.grad.any()
