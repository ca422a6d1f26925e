"""Masks against mmpretrain; dropped tokens against a full pass whose attention does not look at them."""

import pytest
import torch
from mmpretrain.models import MaskFeatViT, VisionTransformer
from torch import Tensor
from torch.nn import functional

from mixcl.backbones import ContrastiveViT
from mixcl.errors import UserError

ARCH = dict(embed_dims=16, num_layers=3, num_heads=2, feedforward_channels=32)


def vit(**settings: object) -> ContrastiveViT:
    torch.manual_seed(0)
    model = ContrastiveViT(**{**dict(arch=ARCH, img_size=8, patch_size=2), **settings})
    model.init_weights()
    if not model.fixed_position:
        torch.nn.init.normal_(model.pos_embed)
    torch.nn.init.normal_(model.cls_token)
    return model.double()


def images(count: int = 3, side: int = 8) -> Tensor:
    return torch.randn(count, 3, side, side, generator=torch.Generator().manual_seed(1), dtype=torch.float64)


def drawn(count: int, kept: int, cells: int = 16) -> Tensor:
    generator = torch.Generator().manual_seed(2)
    return torch.stack([torch.randperm(cells, generator=generator)[:kept] for _ in range(count)])


def masked_reference(model: ContrastiveViT, batch: Tensor, tokens: Tensor) -> Tensor:
    """Return the class token of a pass in which all tokens stay, but none attends to a patch that is not kept."""
    projection = model.patch_embed.projection
    patches = functional.conv2d(batch, projection.weight, projection.bias, stride=2).flatten(2)
    x = torch.cat([model.cls_token.expand(len(batch), -1, -1), patches.mT], dim=1) + model.pos_embed
    visible = torch.zeros(x.shape[:2], dtype=torch.bool)
    visible[:, 0] = True
    visible[torch.arange(len(batch))[:, None], tokens + 1] = True
    for layer in model.layers:
        heads = layer.attn.qkv(layer.ln1(x)).unflatten(-1, (3, layer.attn.num_heads, -1))
        query, key, value = heads.permute(2, 0, 3, 1, 4)
        scores = query @ key.mT / query.shape[-1] ** 0.5
        weights = scores.masked_fill(~visible[:, None, None, :], -torch.inf).softmax(dim=-1)
        x = x + layer.attn.proj((weights @ value).transpose(1, 2).flatten(2))
        x = layer.ffn(layer.ln2(x), identity=x)
    return model.ln1(x)[:, 0]


@pytest.mark.parametrize('fixed_position', [True, False])
@pytest.mark.parametrize('kept', [1, 4, 15])
def test_dropped_patches_are_patches_that_no_one_attends_to(fixed_position: bool, kept: int) -> None:
    model, batch, tokens = vit(fixed_position=fixed_position), images(), drawn(3, kept)
    kept_only = model(batch, tokens=tokens)[0]
    torch.testing.assert_close(kept_only, masked_reference(model, batch, tokens), rtol=0, atol=1e-12)
    assert (kept_only - model(batch)[0]).abs().max() > 1e-3, 'the others would have mattered'


def test_another_image_size_and_several_outputs_are_mmpretrains() -> None:
    settings = dict(arch=ARCH, img_size=8, patch_size=2, out_indices=[0, 2])
    model, plain, batch = vit(out_indices=[0, 2]), VisionTransformer(**settings).double(), images(2, side=12)
    plain.load_state_dict(model.state_dict())
    outputs = model(batch, tokens=torch.arange(36).expand(2, -1))
    for output, full, expected in zip(outputs, model(batch), plain(batch), strict=True):
        torch.testing.assert_close(output, full, rtol=0, atol=1e-12)
        torch.testing.assert_close(full, expected, rtol=0, atol=1e-12)


def test_gradients_are_mmpretrains_where_the_last_block_computes_the_class_token_alone() -> None:
    model, plain, batch = vit(), VisionTransformer(arch=ARCH, img_size=8, patch_size=2).double(), images()
    plain.load_state_dict(model.state_dict())
    seen: list[Tensor] = []
    model.layers[-1].register_forward_hook(lambda _, __, output: seen.append(output))
    for backbone in (model, plain):
        backbone(batch)[0].square().sum().backward()
    model.eval()
    model(batch)
    assert [output.shape[1] for output in seen] == [1, 17], 'figures and features look at all tokens'
    for (name, parameter), other in zip(model.named_parameters(), plain.parameters(), strict=True):
        torch.testing.assert_close(parameter.grad, other.grad, rtol=0, atol=1e-12, msg=name)


def test_an_offset_scales_the_grid_to_so_much_more_than_its_patches() -> None:
    """14 x 20 positions become 6 x 5; each holds its row and column, which linear interpolation keeps."""
    for offset in (0.1, 0.0):
        model = vit(img_size=(28, 40), position_offset=offset, interpolate_mode='bilinear')
        model.pos_embed.data[0, 1:, :2] = torch.cartesian_prod(torch.arange(14.0), torch.arange(20.0))
        places = [
            (torch.arange(new, dtype=torch.float64) + 0.5) * old / (new + offset) - 0.5
            for new, old in ((6, 14), (5, 20))
        ]
        torch.testing.assert_close(model.positions((6, 5))[0, 1:, :2], torch.cartesian_prod(*places))


def test_pooled_patches_are_those_that_were_kept() -> None:
    model, batch, tokens = vit(out_type='avg_featmap', final_norm=False), images(), drawn(3, 4)
    raw = vit(out_type='raw', final_norm=False)(batch, tokens=tokens)[0]
    assert raw.shape == (3, 5, 16)
    torch.testing.assert_close(model(batch, tokens=tokens)[0], model.ln2(raw[:, 1:].mean(dim=1)))


@pytest.mark.parametrize('fixed', [False, True])
def test_frozen_blocks_freeze_what_stands_before_them(fixed: bool) -> None:
    model = vit(frozen_stages=1, fixed_position=fixed)
    assert not any(p.requires_grad for part in (model.patch_embed, model.layers[0]) for p in part.parameters())
    assert not model.pos_embed.requires_grad and all(p.requires_grad for p in model.layers[1].parameters())


def test_a_map_with_holes_is_refused() -> None:
    with pytest.raises(UserError, match='featmap'):
        vit(out_type='featmap')(images(), tokens=drawn(3, 4))


def test_masks_show_the_token_at_the_position_of_a_patch() -> None:
    model, batch = vit(mask_token=True, out_type='featmap'), images()
    torch.nn.init.normal_(model.mask_token)
    other = MaskFeatViT(arch=ARCH, img_size=8, patch_size=2).double()
    other.load_state_dict(model.state_dict())
    mask = (drawn(3, 16) < 9).unflatten(1, (4, 4))
    expected = other(batch, mask.flatten(1))[:, 1:].mT.unflatten(2, (4, 4))
    torch.testing.assert_close(model(batch, mask)[0], expected)
    torch.testing.assert_close(model(batch, mask.long())[0], expected)
    torch.testing.assert_close(model(batch)[0], model(batch, torch.zeros_like(mask))[0])
