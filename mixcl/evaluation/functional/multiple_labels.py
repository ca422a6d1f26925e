"""What VOC's labels must satisfy before classifiers are trained on them."""

import torch
from torch import Tensor

from mixcl.errors import UserError
from mixcl.evaluation.functional.feature_checks import check_features, check_same_dimensions


def check_present(name: str, features: Tensor, present: Tensor) -> None:
    """Refuse unusable features, and labels that are not one of 1, 0, -1 per image and class.

    Args:
        name: what they are, for the message, for example ``'training'``.
        features: (N, D), any floating dtype.
        present: (N, C) integers: 1 present, 0 to be left out (difficult only), -1 absent.

    Raises:
        UserError: if features or labels are unusable, or their lengths differ.
    """
    check_features(name, features)
    if present.ndim != 2 or len(present) != len(features) or present.shape[1] == 0 or present.is_floating_point():
        raise UserError(
            f'{name} labels must be integers (images, classes): {len(features)} features came with {present.dtype} '
            f'labels of shape {tuple(present.shape)}; a linear SVM needs the labels of VOC07'
        )
    if not torch.isin(present, torch.tensor([-1, 0, 1], device=present.device)).all():
        raise UserError(
            f'{name} labels must be 1 (present), 0 (difficult only) or -1 (absent), but run from {present.min()} to '
            f'{present.max()}: check the data set'
        )


def check_enough(name: str, present: Tensor, value: int, needed: int, purpose: str) -> None:
    """Refuse labels of which a class has too few.

    Args:
        name: what they are, for the message.
        present: (N, C) as for :func:`check_present`.
        value: 1 to count images with the class, -1 those without.
        needed: the least count.
        purpose: what needs them, for the message.

    Raises:
        UserError: names the class with the fewest.
    """
    counts = (present == value).sum(dim=0)
    fewest = int(counts.argmin())
    if counts[fewest] < needed:
        kind = 'positive' if value == 1 else 'negative'
        raise UserError(
            f'class number {fewest} has {counts[fewest]} {kind} {name} image(s), but {purpose} needs {needed}: give '
            'the whole data set or lower the setting'
        )


def check_train_and_test(bank: Tensor, bank_present: Tensor, queries: Tensor, present: Tensor) -> None:
    """Refuse features or labels that cannot be trained and tested on.

    Raises:
        UserError: if a set is unusable, or the two do not fit each other.
    """
    check_present('training', bank, bank_present)
    check_present('test', queries, present)
    check_same_dimensions('training', bank, 'test', queries)
    if bank_present.shape[1] != present.shape[1]:
        raise UserError(
            f'training labels have {bank_present.shape[1]} classes and test labels {present.shape[1]}: '
            'take both from the same data set'
        )
