"""Where a vision transformer looks: its attention, by block, patch and source."""

import math
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.overrides import TorchFunctionMode

from mixcl.encoders.widths import evaluating


class _Attention(TorchFunctionMode):
    """Recorder of the attention (B, heads, tokens, tokens) that torch's functions compute but do not return."""

    def __init__(self) -> None:
        super().__init__()
        self.layers: list[Tensor] = []

    def __torch_function__(self, function: Any, types: Any, args: tuple = (), kwargs: dict | None = None) -> Any:
        options = kwargs or {}
        if function is functional.multi_head_attention_forward:
            output: Any = function(*args, **{**options, 'need_weights': True, 'average_attn_weights': False})
            self.layers.append(output[1].float())
            return output
        if function is functional.scaled_dot_product_attention:
            query, key, *_ = args
            self.layers.append((query @ key.mT * query.shape[-1] ** -0.5).float().softmax(dim=-1))
        return function(*args, **options)


def attention_layers(backbone: nn.Module, images: Tensor) -> list[Tensor]:
    """Return each block's attention (B, heads, tokens, tokens) for normalised images (B, C, H, W); rows sum to 1.

    The backbone must compute it by ``scaled_dot_product_attention`` or ``nn.MultiheadAttention``.
    """
    with evaluating(backbone), _Attention() as attention:
        backbone(images)
    return attention.layers


def rollout(layers: Sequence[Tensor]) -> Tensor:
    """Compute how much of each token reaches each token of the last block: (B, tokens, tokens), rows sum to 1.

    This is the product over the blocks of half the heads' mean plus half the identity, for the residual. Source: Abnar
    and Zuidema, Quantifying attention flow in transformers, https://arxiv.org/abs/2005.00928, section 3.
    """
    total = torch.eye(layers[0].shape[-1], device=layers[0].device)
    for layer in layers:
        total = (layer.mean(dim=1) + torch.eye(layer.shape[-1], device=layer.device)) / 2 @ total
    return total


def patch_shares(attention: Tensor, num_prefix_tokens: int, has_class: bool, size: Sequence[int]) -> Tensor:
    """Compute the shares (..., h, w) of the patches in what the class token attends to; they sum to 1.

    Args:
        attention: (..., tokens, tokens).
        num_prefix_tokens: number of tokens that precede the patches.
        has_class: whether the first is a class token; if not, the mean over the patches counts.
        size: (height, width) of the images; the grid of patches has the same proportions.
    """
    rows = (
        attention[..., 0, num_prefix_tokens:]
        if has_class
        else attention[..., num_prefix_tokens:, num_prefix_tokens:].mean(dim=-2)
    )
    down = round((rows.shape[-1] * size[0] / size[1]) ** 0.5)
    return (rows / rows.sum(dim=-1, keepdim=True)).unflatten(-1, (down, rows.shape[-1] // down))


def shares_by_source(shares: Tensor, shown: Tensor, sources: int) -> tuple[Tensor, Tensor]:
    """Compute the part of each source of a mixture in some shares, and in the area; both (B, sources), rows sum to 1.

    Args:
        shares: (B, h, w) that sum to 1.
        shown: (B, H, W) int64 or bool, which source each cell shows; the cells may differ in size.
        sources: number of sources.
    """
    masks = torch.stack([(shown == source).float() for source in range(sources)], dim=1)
    resize = functional.interpolate
    # Resize both to a common finer grid; a share is spread evenly over its cells there.
    size = [math.lcm(*sides) for sides in zip(masks.shape[2:], shares.shape[1:], strict=True)]
    spread = resize(shares[:, None], size) * (shares[0].numel() / (size[0] * size[1]))
    return (resize(masks, size) * spread).sum(dim=(2, 3)), masks.mean(dim=(2, 3))
