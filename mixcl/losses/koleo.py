"""A loss that spreads the features of a batch."""

import torch
from torch import Tensor
from torch.nn.functional import normalize

SMALLEST = 1e-8
"""Added to distances, so that equal features give a large but finite loss."""


def koleo(features: Tensor) -> Tensor:
    """Return the mean of ``-log(distance to the nearest other row)`` over L2-normalised features (B, C), B > 1.

    Computed in float32, whatever autocast says. The nearest rows are those of this process.

    Source: Sablayrolles et al., Spreading vectors for similarity search, 2019, Eq. 2; as in DINOv2
    (https://arxiv.org/abs/2304.07193, section 4).
    """
    with torch.autocast(features.device.type, enabled=False):
        directions = normalize(features.float(), dim=1, eps=SMALLEST)
        with torch.no_grad():
            cosines = directions @ directions.T
            nearest = cosines.fill_diagonal_(-2).argmax(dim=1)  # -1 would be as near as an opposite row
        distances = (directions - directions[nearest] + SMALLEST).norm(dim=1)
        return -(distances + SMALLEST).log().mean()
