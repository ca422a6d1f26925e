"""Attention equals that computed by hand."""

import torch
from backbones.small_models import MODELS_AND_WIDTHS, images
from mmengine.registry import DefaultScope
from pytest import mark
from torch import Tensor, nn
from torchvision.models import VisionTransformer

from mixcl.backbones.transformer_parts import transformer_parts
from mixcl.registry import MODELS
from mixcl.visualization.attention_maps import attention_layers, patch_shares, rollout, shares_by_source

ARCH = dict(embed_dims=32, num_layers=2, num_heads=2, feedforward_channels=32)
OWN = dict(type='ContrastiveViT', arch=ARCH, img_size=32, patch_size=8)
TORCHVISION = dict(image_size=32, patch_size=8, num_layers=2, num_heads=2, hidden_dim=32, mlp_dim=32)


def build(config: dict) -> nn.Module:
    torch.manual_seed(0)
    with DefaultScope.overwrite_default_scope('mixcl'):
        backbone = MODELS.build(config)
    backbone.init_weights()
    return backbone


def softmax_of_products(query: Tensor, key: Tensor) -> Tensor:
    return torch.stack([
        torch.stack([(q @ k.T / q.shape[-1] ** 0.5).softmax(dim=1) for q, k in zip(*heads, strict=True)])
        for heads in zip(query, key, strict=True)
    ])  # fmt: skip


@mark.parametrize('config', [OWN, dict(OWN, type='DINOViT'), MODELS_AND_WIDTHS['vit'][0]])
def test_attention_is_the_softmax_of_products(config: dict) -> None:
    backbone, seen = build(config), []
    for module in backbone.modules():
        if hasattr(module, 'qkv'):
            module.qkv.register_forward_hook(lambda _, __, output: seen.append(output.detach()))
    before = backbone(images(batch=2))[0]
    seen.clear()
    layers = attention_layers(backbone, images(batch=2))
    for attention, output in zip(layers, seen, strict=True):
        query, key, _ = output.unflatten(2, (3, 2, -1)).permute(2, 0, 3, 1, 4)
        torch.testing.assert_close(attention, softmax_of_products(query, key))
    seen.clear()
    torch.testing.assert_close(backbone(images(batch=2))[0], before)  # everything is as it was
    assert len(layers) == len(seen) == 2 and backbone.training


def test_attention_of_torchvision() -> None:
    torch.manual_seed(0)
    model, seen = VisionTransformer(**TORCHVISION), []
    model.encoder.layers[1].ln_1.register_forward_hook(lambda _, __, output: seen.append(output.detach()))
    *_, last = attention_layers(model, images(batch=2))
    part = model.encoder.layers[1].self_attention
    query, key, _ = nn.functional.linear(seen[0], part.in_proj_weight, part.in_proj_bias).chunk(3, dim=2)
    heads = [vectors.unflatten(2, (2, -1)).transpose(1, 2) for vectors in (query, key)]
    torch.testing.assert_close(last, softmax_of_products(*heads))


@mark.parametrize('name, others', [('vit', 1), ('dinov2', 1), ('dinov3', 3), ('clip', 1)])
def test_tokens_before_the_patches(name: str, others: int) -> None:
    backbone = build(MODELS_AND_WIDTHS[name][0])
    size = 28 if name == 'dinov2' else 32
    assert transformer_parts(backbone)[2:] == (others, True)
    layers = attention_layers(backbone, images(size))
    assert layers[0].shape[-1] == others + (size // backbone.patch_size) ** 2
    torch.testing.assert_close(layers[-1].sum(dim=-1), torch.ones(layers[-1].shape[:-1]))


def test_rollout_is_the_product_of_halves() -> None:
    layers = [torch.rand(1, 3, 5, 5).softmax(dim=-1) for _ in range(3)]
    expected = torch.eye(5)
    for layer in layers:
        mean = sum(layer[0, head] for head in range(3)) / 3
        expected = (0.5 * mean + 0.5 * torch.eye(5)) @ expected
    torch.testing.assert_close(rollout(layers)[0], expected)
    shares = patch_shares(torch.rand(2, 3, 9, 9), 1, True, (16, 32))
    assert shares.shape == (2, 3, 2, 4)
    torch.testing.assert_close(shares.sum(dim=(-1, -2)), torch.ones(2, 3))


def test_shares_by_source() -> None:
    shown = torch.tensor([[[0, 0, 1], [2, 1, 1], [2, 2, 2]]])
    even, area = shares_by_source(torch.full((1, 2, 2), 0.25), shown, 3)
    torch.testing.assert_close(even, torch.tensor([[2 / 9, 3 / 9, 4 / 9]]))
    torch.testing.assert_close(area, even)
    corner = torch.zeros(1, 3, 3)
    corner[0, 0, 2] = 1
    torch.testing.assert_close(shares_by_source(corner, shown, 3)[0], torch.tensor([[0.0, 1.0, 0.0]]))
