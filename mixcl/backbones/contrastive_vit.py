"""A vision transformer set up as the contrastive papers set it up."""

import math
from typing import Any

import torch
from mmpretrain.models import VisionTransformer
from mmpretrain.models.utils import build_2d_sincos_position_embedding, resize_pos_embed
from torch import Tensor, nn

from mixcl.errors import UserError
from mixcl.registry import MODELS


@MODELS.register_module()
class ContrastiveViT(VisionTransformer):
    """mmpretrain's ``VisionTransformer`` with the initialisation of MoCo v3 ("An Empirical Study of Training
    Self-Supervised Vision Transformers", 2021), which PatchMix, SDMP and APS share.

    Linear layers are Xavier-uniform with zero biases, query, key and value being three matrices; the class token is
    nearly zero. Parameter names are VisionTransformer's, so its weights load there. The output is a tuple with the
    class token (B, C) of the last block after the final layer norm.

    ``forward`` can keep some patches only: the others are dropped before the first block and cost nothing (APS). The
    position of the class token is learned with ``pos_embed``, or zero with ``fixed_position``. (APS has none, which is
    the same function: a learned one only adds to the class token.)

    Args:
        fixed_position: use the fixed 2-D sin-cos position embedding (MoCo v3, SDMP) instead of a learned one
            (PatchMix).
        frozen_patch_embed: keep the patch embedding at its random initialisation (MoCo v3's remedy for unstable
            training).
        **kwargs: of ``mmpretrain.VisionTransformer``; give ``arch`` as a dict, since the number of heads is not
            visible in the weights.
    """

    def __init__(self, *, fixed_position: bool = False, frozen_patch_embed: bool = False, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.patch_size = kwargs.get('patch_size', 16)  # mmpretrain's default; it does not keep the value
        self.fixed_position = fixed_position
        # Frozen here and not in init_weights, which runs after DistributedDataParallel has listed the parameters.
        self.pos_embed.requires_grad_(not fixed_position)
        self.patch_embed.requires_grad_(not frozen_patch_embed)

    def init_weights(self) -> None:
        super().init_weights()
        if isinstance(self.init_cfg, dict) and self.init_cfg.get('type') == 'Pretrained':
            return
        for name, layer in self.named_modules():
            if isinstance(layer, nn.Linear):
                # (3 C, C) holds three matrices: each gets the bound of a (C, C) one.
                fan_out = layer.out_features // 3 if name.endswith('qkv') else layer.out_features
                _xavier_uniform(layer, layer.in_features, fan_out)
        projection = self.patch_embed.projection
        _xavier_uniform(projection, projection.weight[0].numel(), self.embed_dims)
        nn.init.normal_(self.cls_token, std=1e-6)
        if self.fixed_position:
            position = build_2d_sincos_position_embedding(self.patch_resolution, self.embed_dims, cls_token=True)
            self.pos_embed.data.copy_(position)

    def forward(self, images: Tensor, tokens: Tensor | None = None) -> tuple[Tensor, ...]:
        """Encode images.

        Args:
            images: (B, 3, H, W), normalised.
            tokens: (B, n) int64, distinct indices of the patches to keep, row by row; None keeps all.

        Returns:
            A tuple of one output per ``out_indices``, with tokens that of the last block alone.

        Raises:
            UserError: if ``out_type`` is a map, in which dropped patches would leave holes.
        """
        if tokens is None:
            return super().forward(images)
        if self.out_type == 'featmap':
            raise UserError("ContrastiveViT: out_type='featmap' needs all patches; use 'cls_token' to drop some")
        x = self.drop_after_pos(self._embed(images, tokens))
        x = self.pre_norm(x)
        for layer in self.layers:
            x = layer(x)
        x = self.ln1(x) if self.final_norm else x
        return (self._format_output(x, None),)

    def _embed(self, images: Tensor, tokens: Tensor) -> Tensor:
        """(B, 1 + n, C): the class token and the kept patches, with their positions."""
        patches, resolution = self.patch_embed(images)
        position = resize_pos_embed(
            self.pos_embed, self.patch_resolution, resolution, self.interpolate_mode, self.num_extra_tokens
        )
        of_class, of_patches = position.split([self.num_extra_tokens, patches.shape[1]], dim=1)
        kept = torch.take_along_dim(patches + of_patches, tokens[..., None], dim=1)
        if self.cls_token is None:
            return kept
        return torch.cat([(self.cls_token + of_class).expand(len(kept), -1, -1), kept], dim=1)


def _xavier_uniform(layer: nn.Linear | nn.Conv2d, fan_in: int, fan_out: int) -> None:
    bound = math.sqrt(6 / (fan_in + fan_out))
    nn.init.uniform_(layer.weight, -bound, bound)
    if layer.bias is not None:
        nn.init.zeros_(layer.bias)
