"""A backbone that is not trained, as a part of a classifier."""

from collections.abc import Mapping

import torch
from torch import Tensor

from mixcl.registry import MODELS
from mixcl.weights import Encoder


@MODELS.register_module()
class FrozenFeatures(Encoder):
    """An encoder with one or several features per image that is the backbone of a classifier (linear probes).

    Always in evaluation mode, whatever mode the model around it is in: no statistics move, no path is dropped. No
    gradients are computed, and no parameter asks for one. Arguments and errors same as
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
        """Encode images (B, 3, H, W), normalised; a tuple of (B, D_i), one or several."""
        return self.feature(self.backbone, images)

    def channels(self, image_size: int) -> tuple[int, ...]:
        """The widths D_i of the features of square images."""
        blank = next(self.backbone.parameters()).new_zeros(1, self._in_channels, image_size, image_size)
        return tuple(features.shape[1] for features in self(blank))
