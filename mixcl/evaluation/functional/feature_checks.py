"""What features and labels must satisfy before anything is computed from them."""

import torch
from torch import Tensor

from mixcl.errors import UserError


def check_features(**sets: Tensor) -> None:
    """Refuse sets of features that are not matrices of finite numbers with as many columns as one another.

    Args:
        **sets: (N, D) of any floating dtype, by the name that messages call them, for example ``bank``.

    Raises:
        UserError: if a shape is wrong, a set has no row, a value is NaN or infinite, or the dimensions differ.
    """
    for name, features in sets.items():
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
    if len({features.shape[1] for features in sets.values()}) > 1:
        widths = ' and '.join(f'{name} features {features.shape[1]}' for name, features in sets.items())
        raise UserError(f'dimensions differ, {widths}: extract all with the same encoder')


def check_classes(**sets: tuple[Tensor, Tensor]) -> None:
    """Refuse features as :func:`check_features` does, and labels that are not one class per image.

    Args:
        **sets: features (N, D) and labels (N,) int64, class numbers from 0, by the name that messages call them.

    Raises:
        UserError: if features or labels are unusable.
    """
    check_features(**{name: features for name, (features, _) in sets.items()})
    for name, (features, labels) in sets.items():
        if labels.shape != features.shape[:1]:
            raise UserError(
                f'{name} labels must be one class per image: {len(features)} features came with labels '
                f'of shape {tuple(labels.shape)}'
            )
        if labels.dtype != torch.int64 or labels.min() < 0:
            raise UserError(
                f'{name} labels must be int64 class numbers from 0, not {labels.dtype} with minimum '
                f'{labels.min().item()}'
            )


def check_several_classes(**sets: tuple[Tensor, Tensor]) -> None:
    """Refuse features as :func:`check_features` does, and labels that do not say which classes an image shows.

    Args:
        **sets: features (N, D) and labels (N, C), integers, 1 for a class that is present, 0 for one to be left out
            (difficult only), -1 for one that is absent; by the name that messages call them.

    Raises:
        UserError: if features or labels are unusable, or the sets have different numbers of classes.
    """
    check_features(**{name: features for name, (features, _) in sets.items()})
    for name, (features, labels) in sets.items():
        if labels.ndim != 2 or len(labels) != len(features) or labels.shape[1] == 0 or labels.is_floating_point():
            raise UserError(
                f'{name} labels must be integers (images, classes): {len(features)} features came with {labels.dtype} '
                f'labels of shape {tuple(labels.shape)}; a linear SVM needs the labels of VOC07'
            )
        if not torch.isin(labels, torch.tensor([-1, 0, 1], device=labels.device)).all():
            raise UserError(
                f'{name} labels must be 1 (present), 0 (difficult only) or -1 (absent), but run from {labels.min()} '
                f'to {labels.max()}: check the data set'
            )
    if len({labels.shape[1] for _, labels in sets.values()}) > 1:
        counts = ' and '.join(f'{name} labels {labels.shape[1]}' for name, (_, labels) in sets.items())
        raise UserError(f'numbers of classes differ, {counts}: take both from the same data set')
