"""A cheaper block and patch embedding for mmpretrain's vision transformers."""

from collections.abc import Sequence
from typing import Any

import torch
from mmcv.cnn.bricks.transformer import FFN
from mmpretrain.models.backbones.vision_transformer import TransformerEncoderLayer
from mmpretrain.models.utils import MultiheadAttention
from torch import Tensor, nn
from torch.nn import functional

Masks = tuple[Tensor | None, Tensor | None]
"""Factors (B, 1, 1) of a block's attention and feed-forward layer; None for 1."""


class LeanBlock(TransformerEncoderLayer):
    """mmpretrain's block: same parameters, same function, but the caller draws drop path (:func:`drop_path_masks`)."""

    def forward(self, x: Tensor, num_queries: int | None = None, masks: Masks = (None, None)) -> Tensor:
        """Map tokens (B, N, C) to (B, N, C), or to the first ``num_queries``; the others serve as keys and values."""
        attended = self_attention(self.attn, self.ln1(x), num_queries)
        x = add_branch(x[:, :num_queries], attended, masks[0])
        return add_branch(x, feed_forward(self.ffn, self.ln2(x)), masks[1])


class PatchProjection(nn.Conv2d):
    """A convolution whose stride is its kernel, as one matrix product, which takes a tenth of its time on a GPU."""

    def forward(self, images: Tensor) -> Tensor:
        """Map images (B, C, H, W) to a map (B, D, h, w) of patches; pixels beyond the last whole patch do not count."""
        (height, width) = self.kernel_size
        rows, columns = images.shape[2] // height, images.shape[3] // width
        whole = images[:, :, : rows * height, : columns * width]
        patches = whole.unflatten(3, (columns, width)).unflatten(2, (rows, height)).permute(0, 2, 4, 1, 3, 5)
        return functional.linear(patches.flatten(3), self.weight.flatten(1), self.bias).permute(0, 3, 1, 2)


def drop_path_masks(blocks: Sequence[Any], x: Tensor) -> list[Masks]:
    """Draw drop path for all blocks and every row of ``x``: float32 masks, 0 with a block's rate p, else 1 / (1 - p).

    All masks together take four kernels, and compiled blocks of all rates share a graph. If no block has a rate, or
    none is in training mode, nothing is drawn.
    """
    drops = [drop for block in blocks for drop in (block.attn.out_drop, block.ffn.dropout_layer)]
    kept = [1.0 - float(drop.drop_prob) if drop.training and hasattr(drop, 'drop_prob') else 1.0 for drop in drops]
    if all(share == 1 for share in kept):
        return [(None, None)] * len(blocks)
    draws = torch.rand(len(kept), len(x), 1, 1, device=x.device)
    masks = torch._foreach_sub(draws.unbind(), kept)  # a tensor of these numbers would wait for the GPU
    torch._foreach_floor_(masks)  # -1 if kept, else 0
    torch._foreach_div_(masks, [-share for share in kept])
    return list(zip(masks[::2], masks[1::2], strict=True))


def add_branch(x: Tensor, branch: Tensor, mask: Tensor | None) -> Tensor:
    """Compute ``x + mask * branch``; without a mask ``x + branch``."""
    if mask is None:
        return x + branch
    if torch.compiler.is_compiling():  # fuses it; torch 2.11 would lose the gradient of a function with `out`
        return torch.addcmul(x, branch, mask)
    return _MaskedSum.apply(x, branch, mask)


class _MaskedSum(torch.autograd.Function):
    """``x + mask * branch`` for float32 and bfloat16 in one kernel, and the gradient of ``branch`` in another.

    Autocast leaves functions with ``out`` alone, and kernels cast what they read and write.
    """

    @staticmethod
    def forward(ctx: Any, x: Tensor, branch: Tensor, mask: Tensor) -> Tensor:
        ctx.save_for_backward(mask)
        ctx.dtype = branch.dtype
        return torch.addcmul(x, branch, mask, out=torch.empty_like(x))

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, Tensor, None]:
        (mask,) = ctx.saved_tensors
        return grad, torch.mul(grad, mask, out=torch.empty_like(grad, dtype=ctx.dtype)), None


def feed_forward(ffn: nn.Module, x: Tensor) -> Tensor:
    """Map tokens (B, N, C), without the residual or drop path (which mmpretrain's SwiGLU layers do not have)."""
    return ffn.gamma2(ffn.layers(x)) if isinstance(ffn, FFN) else ffn(x, identity=0)


def self_attention(attention: MultiheadAttention, x: Tensor, num_queries: int | None = None) -> Tensor:
    """Map tokens (B, N, C) to (B, num_queries, C). The backward pass writes ``qkv`` once, mmpretrain's thrice."""
    parts = attention.qkv(x).unflatten(2, (3, attention.num_heads, -1)).unbind(2)
    query, key, value = (part.transpose(1, 2) for part in parts)
    out = attend(query[:, :, :num_queries], key, value, attention.attn_drop if attention.training else 0.0)
    return attention.gamma1(attention.proj_drop(attention.proj(out.transpose(1, 2).flatten(2))))


def attend(query: Tensor, key: Tensor, value: Tensor, dropout: float = 0.0) -> Tensor:
    """Call torch's attention, in float32 for gradients on a CPU, where this takes a third of bfloat16's time."""
    attention = functional.scaled_dot_product_attention
    if query.is_cuda or query.dtype != torch.bfloat16 or not torch.is_grad_enabled():
        return attention(query, key, value, dropout_p=dropout)
    with torch.autocast(query.device.type, enabled=False):
        return attention(query.float(), key.float(), value.float(), dropout_p=dropout).to(query.dtype)
