"""What features and labels must satisfy before anything is computed from them."""

import torch
from torch import Tensor

from mixcl.errors import UserError


def check_features(**sets: Tensor) -> None:
    """Refuse features that are not finite.

    Args:
        **sets: (N, D) of any floating dtype, by the name that messages call them, for example ``bank``.

    Raises:
        UserError: if a value is NaN or infinite.
    """
    for name, features in sets.items():
        # aminmax passes NaN on and, unlike isfinite, needs no mask as large as the features.
        if not all(extreme.isfinite() for extreme in torch.aminmax(features)):
            raise UserError(
                f'{name} features contain NaN or infinity: the encoder diverged or its checkpoint is damaged, '
                'look at the training loss or take an earlier checkpoint'
            )


def check_labelled(kind: str, **sets: tuple[Tensor, Tensor]) -> None:
    """Refuse features as :func:`check_features` does, and labels of the other kind.

    Args:
        kind: 'class' for labels (N,) int64, class numbers from 0; 'multiple' for labels (N, C), integers, 1 for a class
            that is present, 0 for one to be left out (difficult only), -1 for one that is absent.
        **sets: features (N, D) and labels, by the name that messages call them.

    Raises:
        UserError: if features or labels are unusable.
    """
    check_features(**{name: features for name, (features, _) in sets.items()})
    for name, (features, labels) in sets.items():
        if labels.ndim != {'class': 1, 'multiple': 2}[kind] or len(labels) != len(features):
            raise UserError(
                f'{name} labels must be of the kind {kind!r}, but {len(features)} features came with labels of shape '
                f'{tuple(labels.shape)}: set labels={kind!r} in the FeatureLoop of val_cfg or test_cfg'
            )
