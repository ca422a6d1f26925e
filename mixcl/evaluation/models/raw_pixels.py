"""The pixels themselves as features: the baseline that learnt features are compared with."""

from mmengine.model import BaseModel
from torch import Tensor


class RawPixels(BaseModel):
    """A model without parameters, for :func:`mixcl.evaluation.features.extract`.

    Args:
        data_preprocessor: config or module that prepares the images; None leaves them as they are loaded.
    """

    encoder_names = ('pixels',)

    def __init__(self, data_preprocessor: dict | None = None) -> None:
        super().__init__(data_preprocessor=data_preprocessor)

    def extract_features(self, images: Tensor, encoder: str = 'pixels') -> Tensor:
        """Flatten the images.

        Args:
            images: (B, C, h, w).
            encoder: not used, there is one only.

        Returns:
            (B, C * h * w) float32.
        """
        return images.flatten(1).float()

    forward = extract_features
