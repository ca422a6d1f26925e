"""A backbone that is not trained, alone and as the model of protocols on features."""

from collections.abc import Mapping

import torch
from mmengine.model import BaseModel, BaseModule
from torch import Tensor

from mixcl.evaluation.models.output_features import Feature, Output
from mixcl.registry import MODELS


@MODELS.register_module()
class FrozenFeatures(BaseModule):
    """Features of a frozen backbone, itself usable as the backbone of a classifier (linear probes).

    Always in evaluation mode, whatever mode the model around it is in: no statistics move, no path is dropped. No
    gradients are computed, and no parameter asks for one.

    Args:
        backbone: config of the backbone.
        feature: config of the :class:`~mixcl.evaluation.models.output_features.Feature`; by default
            :class:`~mixcl.evaluation.models.output_features.Output`.

    Raises:
        UserError: if the backbone does not have such features.
    """

    def __init__(self, backbone: Mapping, feature: Mapping | None = None) -> None:
        super().__init__()
        self.backbone = MODELS.build(backbone)
        self._in_channels = backbone.get('in_channels', 3)
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

    def channels(self, image_size: int) -> tuple[int, ...]:
        """The widths D_i of the features of square images."""
        blank = next(self.backbone.parameters()).new_zeros(1, self._in_channels, image_size, image_size)
        return tuple(features.shape[1] for features in self(blank))


@MODELS.register_module()
class FrozenEncoder(BaseModel):
    """A frozen backbone with one feature per image: the model of kNN, SVM, low-shot and quality protocols.

    Its weights come from :class:`~mixcl.engine.hooks.pretrained_hook.PretrainedBackboneHook` (``--pretrained``).

    Arguments and errors same as :class:`FrozenFeatures`.
    """

    encoder_names = ('online',)
    """Whichever encoder of a checkpoint was loaded."""

    def __init__(
        self, backbone: Mapping, feature: Mapping | None = None, data_preprocessor: Mapping | None = None
    ) -> None:
        super().__init__(data_preprocessor)
        self.backbone = FrozenFeatures(backbone, feature)
        # Nothing trains them, but torch's DistributedDataParallel refuses a model without any trainable parameter.
        self.backbone.requires_grad_(True)

    def extract_features(self, images: Tensor, encoder: str = 'online') -> Tensor:
        """(B, D) features of images (B, 3, H, W), normalised."""
        (features,) = self.backbone(images)
        return features

    forward = extract_features
