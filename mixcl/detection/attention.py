"""Windowed and global self-attention with decomposed relative positions, by fused kernels."""

import torch
import torch.nn.functional as F
from mmpretrain.models.backbones.vit_sam import (
    Attention,
    TransformerEncoderLayer,
    get_rel_pos,
    window_partition,
    window_unpartition,
)
from torch import Tensor

ABSENT = -3e4
"""Added to the logits of positions that do not exist; their share underflows to 0, also in half precision."""

ALIGNMENT = 8
"""Fused kernels want head sizes that are multiples of this."""


class FusedBlock(TransformerEncoderLayer):
    """A block of mmpretrain's ``ViTSAM``, with drop path on both residual branches as in ViTDet."""

    def forward(self, x: Tensor) -> Tensor:
        """(B, H, W, C) tokens to (B, H, W, C); ``window_size`` 0 means global attention."""
        x = x + self.ffn.dropout_layer(windowed_attention(self.attn, self.ln1(x), self.window_size))
        return self.ffn(self.ln2(x), identity=x)


def windowed_attention(attention: Attention, x: Tensor, window_size: int) -> Tensor:
    """Attend within windows of ``window_size`` x ``window_size`` tokens (B, H, W, C), or globally if it is 0.

    A window that reaches over the border has only those tokens that exist: the padding behind the windows takes no
    part in the softmax. (In ViTDet's code it does.)
    """
    if window_size == 0:
        return self_attention(attention, x)
    height, width = x.shape[1:3]
    windows, padded = window_partition(x, window_size)
    absent = None
    if padded != (height, width):
        present, _ = window_partition(x.new_ones(1, height, width, 1), window_size)
        absent = (1 - present).repeat(len(x), 1, 1, 1)
    return window_unpartition(self_attention(attention, windows, absent), window_size, padded, (height, width))


def self_attention(attention: Attention, x: Tensor, absent: Tensor | None = None) -> Tensor:
    """Multi-head attention over all tokens of a map, without ever holding a token x token matrix.

    The decomposed relative position of query i and key j is ``q_i . rel_h[h_i - h_j] + q_i . rel_w[w_i - w_j]``. As
    the first part depends on j by its row only, it equals a dot product of further channels: H values of the query
    with the one-hot row of the key, and W values with its one-hot column. So fused kernels see plain queries and
    keys of d + H + W channels.

    Args:
        x: (B, H, W, C) tokens.
        absent: (B, H, W, 1), 1 where a token does not exist and no other may attend to it; None if all exist.

    Returns:
        (B, H, W, C).
    """
    batch, height, width, _ = x.shape
    qkv = attention.qkv(x).reshape(batch, height * width, 3, attention.num_heads, -1)
    query, key, value = qkv.permute(2, 0, 3, 1, 4).unbind()
    queries = [query * attention.scale, *_relative_channels(attention, query, height, width)]
    rows = torch.eye(height, dtype=key.dtype, device=key.device).repeat_interleave(width, dim=0)
    columns = torch.eye(width, dtype=key.dtype, device=key.device).repeat(height, 1)
    keys = [key, *(one_hot.expand(*key.shape[:3], -1) for one_hot in (rows, columns))]
    if absent is not None:
        queries.append(torch.ones_like(query[..., :1]))
        keys.append(ABSENT * absent.to(key.dtype).flatten(1, 2)[:, None].expand(-1, attention.num_heads, -1, -1))
    query, key = torch.cat(queries, dim=-1), torch.cat(keys, dim=-1)
    width_of_all = -(-query.shape[-1] // ALIGNMENT) * ALIGNMENT  # fused kernels want equal widths
    query, key, padded = (F.pad(part, (0, width_of_all - part.shape[-1])) for part in (query, key, value))
    out = F.scaled_dot_product_attention(query, key, padded, scale=1.0)[..., : value.shape[-1]]
    out = out.transpose(1, 2).reshape(batch, height, width, -1)
    return attention.proj(out)


def _relative_channels(attention: Attention, query: Tensor, height: int, width: int) -> list[Tensor]:
    """(B, heads, HW, H) and (B, heads, HW, W): what every query adds to the keys of each row, and of each column."""
    rows, columns = (
        get_rel_pos(size, size, table).to(query.dtype)
        for size, table in ((height, attention.rel_pos_h), (width, attention.rel_pos_w))
    )
    grid = query.unflatten(2, (height, width))
    by_row = torch.einsum('bnhwc,hkc->bnhwk', grid, rows)
    by_column = torch.einsum('bnhwc,wkc->bnhwk', grid, columns)
    return [by_row.flatten(2, 3), by_column.flatten(2, 3)]
