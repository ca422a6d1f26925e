"""A plain vision transformer as the backbone of a detector."""

import math
from collections.abc import Sequence
from typing import Any

import torch
from mmpretrain.models.backbones import ViTSAM
from mmpretrain.models.utils import resize_pos_embed
from torch import Tensor, nn

from mixcl.backbones.position_grids import grid_of_tokens, resized
from mixcl.detection.attention import FusedBlock
from mixcl.errors import UserError
from mixcl.registry import MODELS


@MODELS.register_module()
class DetectionViT(ViTSAM):
    """A vision transformer for large images: attention within windows, except in a few global blocks.

    Built on mmpretrain's ``ViTSAM``. Parameter names are those of ``mmpretrain.VisionTransformer``, so pretrained
    weights load: the class token, its position and the final norm are left out, and the position embedding is resized
    (bicubic) from the pretraining's grid, whatever its size. Only the relative positions are new; they start at zero
    (:attr:`new_parameters`).

    There is no final norm, since the pyramid follows (:class:`~mixcl.detection.feature_pyramid.SimpleFeaturePyramid`).

    Source: Li et al., Exploring Plain Vision Transformer Backbones for Object Detection, 2022 (ViTDet).

    Args:
        arch: ``dict(embed_dims, num_layers, num_heads, feedforward_channels)``; weights do not show the number of
            heads, so it has to be that of the pretraining.
        global_blocks: indices of the blocks with global attention.
        img_size: size of the detector's images in pixels, (height, width) or one number for both; sets the reach of
            the relative positions in global blocks.
        pretrained_img_size: image size, as ``img_size``, whose grid the position embedding is kept at; it is resized
            for every image.
        patch_size: side of a patch in pixels.
        window_size: side of the windows, in patches.
        drop_path_rate: rate in the last block; rises linearly from 0.
        **kwargs: arguments of ``mmpretrain.ViTSAM``.

    Raises:
        UserError: if a global block does not exist, or an image size is not a multiple of the patch size.
    """

    new_parameters = ('layers.*.attn.rel_pos_*',)
    """Patterns of parameters that no pretrained vision transformer has."""

    def __init__(
        self,
        arch: dict,
        global_blocks: Sequence[int],
        img_size: int | tuple[int, int] = 1024,
        pretrained_img_size: int | tuple[int, int] = 224,
        patch_size: int = 16,
        window_size: int = 14,
        drop_path_rate: float = 0.0,
        **kwargs: Any,
    ) -> None:
        unknown = [index for index in global_blocks if not 0 <= index < arch['num_layers']]
        if unknown:
            raise UserError(f'DetectionViT has {arch["num_layers"]} blocks, but global_blocks names {unknown[0]}')
        sizes = [size if isinstance(size, Sequence) else (size, size) for size in (img_size, pretrained_img_size)]
        for size in (*sizes[0], *sizes[1]):
            if size % patch_size:
                raise UserError(f'DetectionViT: image size {size} is not a multiple of patch_size={patch_size}')
        super().__init__(
            arch={**arch, 'global_attn_indexes': tuple(global_blocks)},
            img_size=img_size,
            patch_size=patch_size,
            out_channels=0,
            window_size=window_size,
            use_abs_pos=True,
            use_rel_pos=True,
            drop_path_rate=drop_path_rate,
            **kwargs,
        )
        self.position_resolution = (sizes[1][0] // patch_size, sizes[1][1] // patch_size)
        self.pos_embed = nn.Parameter(torch.zeros(1, math.prod(self.position_resolution), self.embed_dims))
        for layer in self.layers:
            layer.__class__ = FusedBlock  # same parameters; ViTSAM hard-codes its own class

    def forward(self, images: Tensor) -> tuple[Tensor, ...]:
        """Encode normalised images (B, 3, H, W): one map (B, C, H / patch, W / patch) per index in ``out_indices``."""
        tokens, (height, width) = self.patch_embed(images)
        position = resize_pos_embed(
            self.pos_embed, self.position_resolution, (height, width), self.interpolate_mode, num_extra_tokens=0
        )
        x = self.drop_after_pos(tokens + position).unflatten(1, (height, width))
        maps = []
        for index, layer in enumerate(self.layers):
            x = layer(x)
            if index in self.out_indices:
                maps.append(self._format_output(x.permute(0, 3, 1, 2)))
        return tuple(maps)

    def _prepare_pos_embed(self, state_dict: dict[str, Tensor], prefix: str, *args: Any, **kwargs: Any) -> None:
        """Drop the class token's position and resize positions learned for another square, before loading."""
        name = f'{prefix}pos_embed'
        position = state_dict.get(name)
        if position is None or position.shape == self.pos_embed.shape:
            return
        if (found := grid_of_tokens(position.shape[1])) is None:
            raise UserError(
                f'{name} has {position.shape[1]} positions, which form no square grid, with or without a class token'
            )
        extra, grid = found
        state_dict[name] = resized(self, position[:, extra:], grid, self.position_resolution, 0)
