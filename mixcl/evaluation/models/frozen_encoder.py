"""The model of the protocols that evaluate features without training a network."""

from collections.abc import Mapping

from mmengine.model import BaseModel
from torch import Tensor

from mixcl.errors import UserError
from mixcl.evaluation.models.frozen_features import FrozenFeatures
from mixcl.registry import MODELS


@MODELS.register_module()
class FrozenEncoder(BaseModel):
    """A frozen backbone with one feature per image: the model of kNN, SVM, low-shot and quality protocols.

    Its weights come from :class:`~mixcl.engine.hooks.pretrained_hook.PretrainedBackboneHook` (``--pretrained``).

    Args:
        backbone: config of the backbone.
        feature: config of the feature, see :mod:`mixcl.evaluation.models.outputs`; by default the backbone's output.
        data_preprocessor: config of the preprocessor, with the mean and deviation of pretraining.

    Attributes:
        encoder_names: ``('online',)``, whichever encoder of a checkpoint was loaded.
        backbone: the :class:`~mixcl.evaluation.models.FrozenFeatures`.

    Raises:
        UserError: if the backbone does not have such a feature.
    """

    encoder_names = ('online',)

    def __init__(
        self, backbone: Mapping, feature: Mapping | None = None, data_preprocessor: Mapping | None = None
    ) -> None:
        super().__init__(data_preprocessor)
        self.backbone = FrozenFeatures(backbone, feature)
        # Nothing trains them, but torch's DistributedDataParallel refuses a model without any trainable parameter.
        self.backbone.requires_grad_(True)

    def extract_features(self, images: Tensor, encoder: str = 'online') -> Tensor:
        """(B, D) features of images (B, 3, H, W), normalised.

        Raises:
            UserError: for another encoder than 'online', or if the feature gives several vectors per image.
        """
        if encoder not in self.encoder_names:
            raise UserError(f'a FrozenEncoder has the encoder online only, not {encoder!r}; choose it by --encoder')
        features = self.backbone(images)
        if len(features) != 1:
            raise UserError(
                f'{type(self.backbone.feature).__name__} gives {len(features)} vectors per image, but this protocol '
                "compares one; use feature=dict(type='Output')"
            )
        return features[0]

    forward = extract_features
