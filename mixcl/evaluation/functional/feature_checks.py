"""What features must satisfy before anything is computed from them."""

import torch
from torch import Tensor

from mixcl.errors import UserError


def check_finite(**sets: Tensor) -> None:
    """Raise :class:`UserError` if features (N, D) hold NaN or infinity; they are named as in messages: ``bank=...``."""
    for name, features in sets.items():
        # aminmax passes NaN on and, unlike isfinite, needs no mask as large as the features.
        if not all(extreme.isfinite() for extreme in torch.aminmax(features)):
            raise UserError(
                f'{name} features contain NaN or infinity: the encoder diverged or its checkpoint is damaged, '
                'look at the training loss or take an earlier checkpoint'
            )
