"""Drop path by masks drawn for all blocks at once, and the residual sum, against plain formulas."""

import copy

import pytest
import torch
from mmpretrain.models import VisionTransformer
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

from mixcl.backbones import ContrastiveViT
from mixcl.backbones.transformer_block import PatchProjection, add_branch, drop_path_masks

ARCH = dict(embed_dims=16, num_layers=3, num_heads=2, feedforward_channels=32)
ROWS = 20_000


def vit(rate: float, **settings: object) -> ContrastiveViT:
    torch.manual_seed(0)
    model = ContrastiveViT(arch=ARCH, img_size=8, patch_size=2, drop_path_rate=rate, **settings)
    model.init_weights()
    torch.nn.init.normal_(model.cls_token)
    return model.double()


class Operations(TorchDispatchMode):
    """Recorder of the names of the operations that are computed, not views."""

    def __init__(self) -> None:
        super().__init__()
        self.names: list[str] = []

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        self.names += [] if function.is_view else [function._schema.name.removeprefix('aten::')]
        return function(*args, **(kwargs or {}))


def test_a_branch_of_a_row_is_kept_with_its_probability_whatever_happens_to_the_others() -> None:
    masks = torch.stack([mask for pair in drop_path_masks(vit(0.5).layers, torch.zeros(ROWS, 1)) for mask in pair])
    assert masks.shape == (6, ROWS, 1, 1) and masks.dtype == torch.float32
    assert masks[:2].eq(1).all(), 'the first block has rate 0'
    for mask, rate in zip(masks[2:], (0.25, 0.25, 0.5, 0.5), strict=True):
        assert mask.unique().tolist() == pytest.approx([0, 1 / (1 - rate)])
        assert mask.count_nonzero() / ROWS == pytest.approx(1 - rate, abs=5 * (rate * (1 - rate) / ROWS) ** 0.5)
    neighbours = masks.flatten(1)[2:].unfold(1, 2, 2)  # (branches, pairs of rows, 2)
    correlation = torch.corrcoef(neighbours.transpose(1, 2).flatten(0, 1)) - torch.eye(8)
    assert correlation.abs().max() < 5 * (2 / ROWS) ** 0.5


def test_nothing_is_drawn_where_nothing_is_dropped() -> None:
    evaluated, resting, before = vit(0.5), vit(0.5), torch.get_rng_state()
    evaluated.eval()
    for layer in resting.layers:
        layer.eval()
    for model in (vit(0.0), evaluated, resting):
        assert drop_path_masks(model.layers, torch.zeros(2, 1)) == [(None, None)] * 3
    assert torch.equal(torch.get_rng_state(), before)


@pytest.mark.parametrize('out_type', ['cls_token', 'raw'])
def test_blocks_drop_the_branches_that_the_masks_say(out_type: str) -> None:
    """mmpretrain's blocks, with each DropPath replaced by a product with its mask."""
    model, images = vit(0.5, out_type=out_type), torch.randn(6, 3, 8, 8, dtype=torch.float64)
    plain = VisionTransformer(arch=ARCH, img_size=8, patch_size=2, out_type=out_type).double()
    plain.load_state_dict(model.state_dict())
    torch.manual_seed(1)
    for layer, (first, second) in zip(plain.layers, drop_path_masks(model.layers, images), strict=True):
        layer.attn.out_drop.forward = first.double().mul
        layer.ffn.dropout_layer.forward = second.double().mul
    torch.manual_seed(1)
    outputs = [backbone(images)[0] for backbone in (model, plain)]
    torch.testing.assert_close(*outputs, rtol=0, atol=1e-12)
    for output in outputs:
        output.square().sum().backward()
    for (name, parameter), other in zip(model.named_parameters(), plain.parameters(), strict=True):
        torch.testing.assert_close(parameter.grad, other.grad, rtol=0, atol=1e-11, msg=name)


def test_swiglu_layers_compute_what_mmpretrains_do() -> None:
    settings, images = dict(layer_cfgs=dict(ffn_type='swiglu_fused')), torch.randn(2, 3, 8, 8, dtype=torch.float64)
    model, plain = vit(0.0, **settings), VisionTransformer(arch=ARCH, img_size=8, patch_size=2, **settings).double()
    plain.load_state_dict(model.state_dict())
    torch.testing.assert_close(model(images), plain(images), rtol=0, atol=1e-12)


def parts(dtype: torch.dtype, branch_dtype: torch.dtype) -> tuple[Tensor, Tensor, Tensor]:
    generator = torch.Generator().manual_seed(0)
    x, branch = (torch.randn(4, 5, 6, generator=generator, dtype=kind) for kind in (dtype, branch_dtype))
    return x.requires_grad_(), branch.requires_grad_(), torch.tensor([0, 1, 1.25, 2])[:, None, None]


def test_the_sum_has_the_gradient_of_the_formula() -> None:
    x, branch, mask = parts(torch.float64, torch.float64)
    torch.testing.assert_close(add_branch(x, branch, mask), x + mask * branch, rtol=0, atol=1e-15)
    assert torch.equal(add_branch(x, branch, None), x + branch)
    assert torch.autograd.gradcheck(lambda *of: add_branch(*of, mask), (x, branch))
    first = parts(torch.float64, torch.float64)[0]
    assert torch.autograd.gradcheck(lambda x: add_branch(x[:, :1], branch[:, :1].detach(), mask), first)


def test_mixed_precision_costs_a_kernel_forward_and_one_backward() -> None:
    x, branch, mask = parts(torch.float32, torch.bfloat16)
    above, operations = torch.randn(4, 5, 6), Operations()
    with torch.autocast('cpu', torch.bfloat16), operations:
        added = add_branch(x, branch, mask)
        of_x, of_branch = torch.autograd.grad(added, (x, branch), above)
    assert [name for name in operations.names if 'empty' not in name] == ['addcmul', 'mul']
    torch.testing.assert_close(added, x + mask * branch.float(), rtol=0, atol=1e-6)
    assert added.dtype == torch.float32 and torch.equal(of_x, above)
    assert torch.equal(of_branch, (above * mask).bfloat16())


@pytest.mark.parametrize('size', [(8, 12), (11, 9)])
def test_patches_are_those_of_a_convolution(size: tuple[int, int]) -> None:
    """Also where the last patches are cut, which a convolution leaves out."""
    convolution = torch.nn.Conv2d(3, 5, kernel_size=(4, 3), stride=(4, 3)).double()
    projection = copy.deepcopy(convolution)
    projection.__class__ = PatchProjection
    images = torch.randn(2, 3, *size, dtype=torch.float64)
    torch.testing.assert_close(projection(images), convolution(images))
    assert isinstance(vit(0.0).patch_embed.projection, PatchProjection)


def test_compiled_blocks_have_the_gradients_of_eager_ones_with_drop_path() -> None:
    """torch 2.11 lost those of a function with ``out``, without a word."""
    model, images = vit(0.5), torch.randn(4, 3, 8, 8, dtype=torch.float64)
    gradients = []
    for compiled in (False, True):
        for layer in model.layers if compiled else ():
            layer.compile(backend='aot_eager')
        torch.manual_seed(0)
        model.zero_grad()
        model(images)[-1].square().sum().backward()
        gradients.append([parameter.grad.clone() for parameter in model.parameters() if parameter.grad is not None])
    torch.testing.assert_close(gradients[1], gradients[0])
