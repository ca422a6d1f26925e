"""A cheaper block for mmpretrain's vision transformers."""

import torch
from mmpretrain.models.backbones.vision_transformer import TransformerEncoderLayer
from mmpretrain.models.utils import MultiheadAttention
from torch import Tensor
from torch.nn import functional


class LeanBlock(TransformerEncoderLayer):
    """mmpretrain's block: same parameters, same function."""

    def forward(self, x: Tensor, num_queries: int | None = None) -> Tensor:
        """Map tokens (B, N, C) to (B, N, C), or to the first ``num_queries``; the others serve as keys and values."""
        x = x[:, :num_queries] + self_attention(self.attn, self.ln1(x), num_queries)
        return self.ffn(self.ln2(x), identity=x)


def self_attention(attention: MultiheadAttention, x: Tensor, num_queries: int | None = None) -> Tensor:
    """Map tokens (B, N, C) to (B, num_queries, C). The backward pass writes ``qkv`` once, mmpretrain's thrice."""
    parts = attention.qkv(x).unflatten(2, (3, attention.num_heads, -1)).unbind(2)
    query, key, value = (part.transpose(1, 2) for part in parts)
    out = attend(query[:, :, :num_queries], key, value, attention.attn_drop if attention.training else 0.0)
    out = attention.proj(out.transpose(1, 2).flatten(2))
    return attention.out_drop(attention.gamma1(attention.proj_drop(out)))


def attend(query: Tensor, key: Tensor, value: Tensor, dropout: float = 0.0) -> Tensor:
    """Call torch's attention, in float32 for gradients on a CPU, where this takes a third of bfloat16's time."""
    attention = functional.scaled_dot_product_attention
    if query.is_cuda or query.dtype != torch.bfloat16 or not torch.is_grad_enabled():
        return attention(query, key, value, dropout_p=dropout)
    with torch.autocast(query.device.type, enabled=False):
        return attention(query.float(), key.float(), value.float(), dropout_p=dropout).to(query.dtype)
