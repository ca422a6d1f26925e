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

ALIGNMENT = 8
"""Divisor that fused kernels want head sizes to have."""


class FusedBlock(TransformerEncoderLayer):
    """A block of mmpretrain's ``ViTSAM``, with drop path on both residual branches as in ViTDet."""

    def forward(self, x: Tensor) -> Tensor:
        """Map tokens (B, H, W, C) to (B, H, W, C); ``window_size`` 0 means global attention."""
        tokens, size = self.ln1(x), x.shape[1:3]
        if self.window_size:
            windows, padded = window_partition(tokens, self.window_size)
            tokens = window_unpartition(self_attention(self.attn, windows), self.window_size, padded, size)
        else:
            tokens = self_attention(self.attn, tokens)
        x = x + self.ffn.dropout_layer(tokens)
        return self.ffn(self.ln2(x), identity=x)


def self_attention(attention: Attention, x: Tensor) -> Tensor:
    """Compute multi-head attention over all tokens of a map (B, H, W, C), without holding a token x token matrix.

    The decomposed relative position of query i and key j is ``q_i . rel_h[h_i - h_j] + q_i . rel_w[w_i - w_j]``. The
    first term depends on j only through its row, so it equals a dot product of extra channels: H values of the query
    with the one-hot row of the key. The second adds W values with its one-hot column. So fused kernels see plain
    queries and keys of d + H + W channels.
    """
    batch, height, width, _ = x.shape
    qkv = attention.qkv(x).reshape(batch, height * width, 3, attention.num_heads, -1)
    query, key, value = qkv.permute(2, 0, 3, 1, 4).unbind()
    rows = torch.eye(height, dtype=key.dtype, device=key.device).repeat_interleave(width, dim=0)
    columns = torch.eye(width, dtype=key.dtype, device=key.device).repeat(height, 1)
    keys = [key, *(one_hot.expand(*key.shape[:3], -1) for one_hot in (rows, columns))]
    queries = [query * attention.scale, *_relative_channels(attention, query, height, width)]
    query, key = torch.cat(queries, dim=-1), torch.cat(keys, dim=-1)
    width_of_all = -(-query.shape[-1] // ALIGNMENT) * ALIGNMENT  # fused kernels want equal widths
    query, key, padded = (F.pad(part, (0, width_of_all - part.shape[-1])) for part in (query, key, value))
    out = F.scaled_dot_product_attention(query, key, padded, scale=1.0)[..., : value.shape[-1]]
    return attention.proj(out.transpose(1, 2).reshape(batch, height, width, -1))


def _relative_channels(attention: Attention, query: Tensor, height: int, width: int) -> list[Tensor]:
    """Compute what every query adds to the keys of each row, (B, heads, HW, H), and column, (B, heads, HW, W)."""
    rows, columns = (
        get_rel_pos(size, size, table).to(query.dtype)
        for size, table in ((height, attention.rel_pos_h), (width, attention.rel_pos_w))
    )
    grid = query.unflatten(2, (height, width))
    by_row = torch.einsum('bnhwc,hkc->bnhwk', grid, rows)
    by_column = torch.einsum('bnhwc,wkc->bnhwk', grid, columns)
    return [by_row.flatten(2, 3), by_column.flatten(2, 3)]
