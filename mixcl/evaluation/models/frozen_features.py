"""Frozen backbone as a part of a classifier."""

from collections.abc import Mapping

import torch
from torch import Tensor

from mixcl.encoders.widths import blank_outputs
from mixcl.registry import MODELS
from mixcl.weights import Encoder


@MODELS.register_module()
class FrozenFeatures(Encoder):
    """Encoder with one or several features per image, used as the backbone of a classifier (linear probes).

    It stays in evaluation mode, whatever the mode of the model around it: no statistics change, no path is dropped. No
    gradients are computed, and no parameter requires one. Arguments and errors same as
    :class:`~mixcl.weights.encoder.Encoder`.
    """

    def __init__(self, backbone: Mapping, feature: Mapping | None = None) -> None:
        super().__init__(backbone, feature)
        self._in_channels = backbone.get('in_channels', 3)
        self.requires_grad_(False)
        self.eval()

    def train(self, mode: bool = True) -> 'FrozenFeatures':
        return super().train(False)

    @torch.no_grad()
    def forward(self, images: Tensor) -> tuple[Tensor, ...]:  # type: ignore[override]  # as backbones
        """Encode normalised images (B, 3, H, W) as a tuple of (B, D_i), or (B, h, w, C) of tokens, one or several."""
        return self.feature(self.backbone, images)

    def channels(self, image_size: int | tuple[int, int]) -> tuple[int, ...]:
        """Return the widths D_i of the features of images, whose size is one side or (height, width)."""
        return tuple(features.shape[-1] for features in blank_outputs(self, self._in_channels, image_size))
