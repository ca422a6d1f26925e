"""What features and labels must satisfy before anything is computed from them."""

import torch
from torch import Tensor

from mixcl.errors import UserError


def check_features(name: str, features: Tensor) -> None:
    """Refuse features that are not a non-empty matrix of finite numbers.

    Args:
        name: what the features are, for the message, for example ``'bank'``.
        features: (N, D), any floating dtype.

    Raises:
        UserError: if the shape is wrong, there is no row, or a value is NaN or infinite.
    """
    if features.ndim != 2 or not features.is_floating_point():
        raise UserError(
            f'{name} features must be a floating-point matrix (images, dimensions), '
            f'not {features.dtype} of shape {tuple(features.shape)}'
        )
    if features.numel() == 0:
        raise UserError(f'{name} features are empty (shape {tuple(features.shape)}): give at least one image')
    # aminmax passes NaN on and, unlike isfinite, needs no mask as large as the features.
    if not all(extreme.isfinite() for extreme in torch.aminmax(features)):
        raise UserError(
            f'{name} features contain NaN or infinity: the encoder diverged or its checkpoint is damaged, '
            'look at the training loss or take an earlier checkpoint'
        )


def check_labelled_features(name: str, features: Tensor, labels: Tensor) -> None:
    """Refuse features as in :func:`check_features`, and labels that do not fit them.

    Args:
        name: what they are, for the message.
        features: (N, D), any floating dtype.
        labels: (N,) int64 class numbers, 0 or more.

    Raises:
        UserError: if features or labels are unusable, or their lengths differ.
    """
    check_features(name, features)
    if labels.shape != features.shape[:1]:
        raise UserError(
            f'{name} labels must be one class per image: {len(features)} features came with labels '
            f'of shape {tuple(labels.shape)}'
        )
    if labels.dtype != torch.int64 or labels.min() < 0:
        raise UserError(
            f'{name} labels must be int64 class numbers from 0, not {labels.dtype} with minimum {labels.min().item()}'
        )


def check_same_dimensions(name: str, features: Tensor, other_name: str, other: Tensor) -> None:
    """Refuse two sets of features that cannot be compared.

    Args:
        name: what the features are, for the message.
        features: (N, D).
        other_name: what the other features are.
        other: (M, D).

    Raises:
        UserError: if the dimensions differ.
    """
    if features.shape[1] != other.shape[1]:
        raise UserError(
            f'{name} features have {features.shape[1]} dimensions and {other_name} features {other.shape[1]}: '
            'extract both with the same encoder'
        )
