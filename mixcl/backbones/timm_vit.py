"""Vision transformers of timm, with one vector per image."""

from typing import Any

import torch
from mmpretrain.models import TIMMBackbone
from timm.models import VisionTransformer
from torch import Tensor, nn

from mixcl.registry import MODELS


@MODELS.register_module()
class TIMMViT(TIMMBackbone):
    """mmpretrain's ``TIMMBackbone``, which gives the vectors of all tokens, with timm's pooling over them.

    The output is a tuple with features (B, C). ``patch_size``, and ``img_size`` where it is fixed, are those of the
    model. For convolutional models ``mmpretrain.TIMMBackbone`` itself will do. ``forward`` can keep some patches only,
    if the model is one of timm's ``VisionTransformer``.

    Args:
        pool: which pooling of timm's: 'token' (class token) or 'avg' (average of the patches).
        **kwargs: of ``mmpretrain.TIMMBackbone``, for example ``model_name='vit_small_patch16_224'``; other arguments
            go to timm, for example ``dynamic_img_size=True`` for local crops.
    """

    def __init__(self, *, pool: str = 'token', **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.timm_model.reset_classifier(0, pool)
        embedding: Any = getattr(self.timm_model, 'patch_embed', None)
        self.patch_size = embedding.patch_size[0] if hasattr(embedding, 'patch_size') else None
        self.img_size = embedding.img_size if getattr(embedding, 'strict_img_size', False) else None
        self.drops_patches = isinstance(self.timm_model, VisionTransformer)

    @property
    def patch_resolution(self) -> tuple[int, int]:
        """Rows and columns of patches of an image of the model's size."""
        return self.timm_model.patch_embed.grid_size

    def forward(self, images: Tensor, tokens: Tensor | None = None) -> tuple[Tensor, ...]:
        """Encode images.

        Args:
            images: (B, 3, H, W), normalised.
            tokens: (B, n) int64, distinct indices of the patches to keep, row by row; None keeps all.
        """
        if tokens is None:
            return super().forward(images)
        others = self.timm_model.num_prefix_tokens  # class token, registers

        def keep(module: nn.Module, inputs: tuple, embedded: Tensor) -> Tensor:
            kept = torch.take_along_dim(embedded[:, others:], tokens[..., None], dim=1)
            return torch.cat([embedded[:, :others], kept], dim=1)

        with self.timm_model.patch_drop.register_forward_hook(keep):  # where timm drops patches, after the positions
            return super().forward(images)
