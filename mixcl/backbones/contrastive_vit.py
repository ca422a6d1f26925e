"""Vision transformers set up as the authors of the contrastive papers set them up."""

import math
from typing import Any

import torch
from mmpretrain.models import VisionTransformer
from mmpretrain.models.utils import build_2d_sincos_position_embedding, resize_pos_embed
from torch import Tensor, nn
from torch.nn import functional

from mixcl.backbones.transformer_block import LeanBlock, PatchProjection, drop_path_masks
from mixcl.errors import UserError
from mixcl.registry import MODELS


@MODELS.register_module()
class ContrastiveViT(VisionTransformer):
    """mmpretrain's ``VisionTransformer`` with the initialisation of MoCo v3 ("An Empirical Study of Training
    Self-Supervised Vision Transformers", 2021), which PatchMix and SDMP share.

    Linear layers are Xavier-uniform with zero biases, where query, key and value are three matrices; the class token
    is nearly zero. Parameter names are those of ``VisionTransformer``, so weights of this class load there. The output
    is a tuple with the class token (B, C) of the last block after the final layer norm.

    ``forward`` can drop patches before the first block, so that they cost nothing (APS), and show the mask token in
    place of others (SimMIM, iBOT). The position of the class token is learned with ``pos_embed``, or zero with
    ``fixed_position``.

    Args:
        fixed_position: use the fixed 2-D sin-cos position embedding (MoCo v3, SDMP) instead of a learned one
            (PatchMix).
        frozen_patch_embed: keep the patch embedding at its random initialisation (MoCo v3's remedy for unstable
            training).
        position_offset: the position embedding is interpolated for images of another size than ``img_size``; an offset
            of 0.1 scales it to n + 0.1 patches and keeps n, as the authors of DINO and PatchMix do for local crops.
        mask_token: learn a token that ``forward`` shows in place of masked patches.
        **kwargs: arguments of ``mmpretrain.VisionTransformer``; give ``arch`` as a dict, since the weights do not show
            the number of heads.
    """

    new_parameters = ('mask_token',)
    """Names of parameters that pretrained weights may lack."""

    def __init__(
        self,
        *,
        fixed_position: bool = False,
        frozen_patch_embed: bool = False,
        position_offset: float = 0.0,
        mask_token: bool = False,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        if mask_token:
            self.mask_token = nn.Parameter(torch.zeros(1, 1, self.embed_dims))
        self.patch_size = kwargs.get('patch_size', 16)  # mmpretrain's default; mmpretrain does not store it
        self.fixed_position = fixed_position
        self.position_offset = position_offset
        # Frozen here and not in init_weights, which runs after DistributedDataParallel has listed the parameters.
        if fixed_position:
            self.pos_embed.requires_grad_(False)
            self._fix_positions()
        if frozen_patch_embed:
            self.patch_embed.requires_grad_(False)
        for layer in self.layers:
            layer.__class__ = LeanBlock  # same parameters; VisionTransformer hard-codes its own class
        projection = self.patch_embed.projection
        if type(projection) is nn.Conv2d and projection.stride == projection.kernel_size:
            projection.__class__ = PatchProjection

    def init_weights(self) -> None:
        super().init_weights()
        if isinstance(self.init_cfg, dict) and self.init_cfg.get('type') == 'Pretrained':
            return
        self._initialise()
        if hasattr(self, 'mask_token'):
            nn.init.trunc_normal_(self.mask_token, std=0.02)
        if self.fixed_position:
            self._fix_positions()

    def _fix_positions(self) -> None:
        # The function numbers patches column by column, so it gets the transposed grid.
        grid = self.patch_resolution[::-1]
        self.pos_embed.data.copy_(build_2d_sincos_position_embedding(grid, self.embed_dims, cls_token=True))

    def _initialise(self) -> None:
        """Draw all weights except norms and positions; mmpretrain draws positions from a truncated normal of .02."""
        for name, layer in self.named_modules():
            if isinstance(layer, nn.Linear):
                # (3 C, C) holds three matrices, each with the bound of a (C, C) one.
                fan_out = layer.out_features // 3 if name.endswith('qkv') else layer.out_features
                _xavier_uniform(layer, layer.in_features, fan_out)
        projection = self.patch_embed.projection
        _xavier_uniform(projection, projection.weight[0].numel(), self.embed_dims)
        nn.init.normal_(self.cls_token, std=1e-6)

    def forward(
        self,
        images: Tensor,
        mask: Tensor | None = None,
        tokens: Tensor | None = None,
        out_type: str | None = None,
    ) -> tuple[Tensor, ...]:
        """Encode images.

        Args:
            images: (B, 3, H, W), normalised.
            mask: (B, h, w) over the grid of patches, 1 or True where the mask token replaces a patch but keeps its
                position; None shows all patches.
            tokens: (B, n) int64, distinct indices of the patches to keep, row by row; None keeps all.
            out_type: 'raw' for all tokens (B, 1 + n, C), the class token first; None for the config's output type.

        Returns:
            A tuple of one output per ``out_indices``.

        Raises:
            UserError: if ``out_type`` is a map, in which dropped patches would leave holes.
        """
        if tokens is not None and self.out_type == 'featmap':
            raise UserError("ContrastiveViT: out_type='featmap' needs all patches; use 'cls_token' to drop some")
        patches, resolution = self.patch_embed(images)
        of_class, of_patches = self.positions(resolution).split([self.num_extra_tokens, patches.shape[1]], dim=1)
        if mask is not None:
            patches = torch.where(mask.flatten(1)[..., None].bool(), self.mask_token.to(patches.dtype), patches)
        x = patches + of_patches
        if tokens is not None:
            x = torch.take_along_dim(x, tokens[..., None], dim=1)
        if self.cls_token is not None:
            x = torch.cat([(self.cls_token + of_class).expand(x.shape[0], -1, -1), x], dim=1)
        x = self.pre_norm(self.drop_after_pos(x))
        outputs = []
        for number, (layer, masks) in enumerate(zip(self.layers, drop_path_masks(self.layers, x), strict=True)):
            last = number == len(self.layers) - 1
            # In evaluation, figures and features need all tokens.
            alone = last and self.training and (out_type or self.out_type) == 'cls_token'
            x = layer(x, 1 if alone else None, masks)
            if last and self.final_norm:
                x = self.ln1(x)
            if number in self.out_indices:
                outputs.append(x if out_type == 'raw' else self._format_output(x, resolution))
        return tuple(outputs)

    def positions(self, resolution: tuple[int, int]) -> Tensor:
        """Return the position embedding (1, 1 + h * w, C) for a grid of (h, w) patches."""
        own = self.patch_resolution
        if resolution == own or not self.position_offset:
            return resize_pos_embed(self.pos_embed, own, resolution, self.interpolate_mode, self.num_extra_tokens)
        of_class, of_patches = self.pos_embed.tensor_split([self.num_extra_tokens], dim=1)
        scale = [(new + self.position_offset) / old for new, old in zip(resolution, own, strict=True)]
        maps = of_patches.unflatten(1, own).permute(0, 3, 1, 2)
        maps = functional.interpolate(maps, scale_factor=scale, mode=self.interpolate_mode)
        return torch.cat([of_class, maps.flatten(2).mT], dim=1)


@MODELS.register_module()
class DINOViT(ContrastiveViT):
    """The vision transformer of the DINO authors' code: weights and class token from a truncated normal of .02, zero
    biases, and torch's default for the patch embedding. Positions of local crops are interpolated as in that code.

    Args:
        position_offset, **kwargs: same as for :class:`ContrastiveViT`.
    """

    def __init__(self, *, position_offset: float = 0.1, **kwargs: Any) -> None:
        super().__init__(position_offset=position_offset, **kwargs)

    def _initialise(self) -> None:
        for layer in self.modules():
            if isinstance(layer, nn.Linear):
                nn.init.trunc_normal_(layer.weight, std=0.02)
                if layer.bias is not None:
                    nn.init.zeros_(layer.bias)
        self.patch_embed.projection.reset_parameters()
        nn.init.trunc_normal_(self.cls_token, std=0.02)


@MODELS.register_module()
class APSViT(ContrastiveViT):
    """The vision transformer of the APS authors' code for CIFAR: torch's default for every layer, and a class token
    from a truncated normal of .02 without a position (its row of ``pos_embed`` starts at zero and is not learned).

    Their blocks also have ``qkv_bias=False`` and ``norm_cfg=dict(type='LN', eps=1e-5)``.
    """

    def _initialise(self) -> None:
        for layer in self.modules():
            if isinstance(layer, (nn.Linear, nn.Conv2d)):
                layer.reset_parameters()
        nn.init.trunc_normal_(self.cls_token, std=0.02)
        nn.init.zeros_(self.pos_embed.data[:, 0])

    def positions(self, resolution: tuple[int, int]) -> Tensor:
        of_class, of_patches = super().positions(resolution).tensor_split([1], dim=1)
        return torch.cat([of_class.detach(), of_patches], dim=1)


def _xavier_uniform(layer: nn.Linear | nn.Conv2d, fan_in: int, fan_out: int) -> None:
    bound = math.sqrt(6 / (fan_in + fan_out))
    nn.init.uniform_(layer.weight, -bound, bound)
    if layer.bias is not None:
        nn.init.zeros_(layer.bias)
