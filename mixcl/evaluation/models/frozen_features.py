"""A backbone that is not trained."""

from collections.abc import Mapping, Sequence

import torch
from mmengine.model import BaseModule
from torch import Tensor

from mixcl.evaluation.models.outputs import Feature, Output
from mixcl.registry import MODELS


@MODELS.register_module()
class FrozenFeatures(BaseModule):
    """Features of a frozen backbone, itself usable as the backbone of a classifier (linear probes).

    Always in evaluation mode, whatever mode the model around it is in: no statistics move, no path is dropped. No
    gradients are computed, and no parameter asks for one.

    Args:
        backbone: config of the backbone.
        feature: config of the :class:`~mixcl.evaluation.models.outputs.Feature`; by default
            :class:`~mixcl.evaluation.models.outputs.Output`.

    Attributes:
        backbone: the wrapped backbone; pretrained weights are loaded into it.

    Raises:
        UserError: if the backbone does not have such features.
    """

    def __init__(self, backbone: Mapping, feature: Mapping | None = None) -> None:
        super().__init__()
        self.backbone = MODELS.build(backbone)
        self.feature: Feature = MODELS.build(feature) if feature else Output()
        self.feature.check(self.backbone)
        self.requires_grad_(False)
        self.eval()

    def train(self, mode: bool = True) -> 'FrozenFeatures':
        """Stay in evaluation mode."""
        return super().train(False)

    @torch.no_grad()
    def forward(self, images: Tensor) -> tuple[Tensor, ...]:
        """Encode images (B, 3, H, W), normalised; a tuple of (B, D_i), one or several."""
        return self.feature(self.backbone, images)

    def channels(self, image_size: int | Sequence[int]) -> tuple[int, ...]:
        """The widths D_i of the features of images of a size, as one number or (height, width)."""
        height, width = (image_size, image_size) if isinstance(image_size, int) else image_size
        blank = next(self.backbone.parameters()).new_zeros(1, 3, height, width)
        return tuple(features.shape[1] for features in self(blank))
