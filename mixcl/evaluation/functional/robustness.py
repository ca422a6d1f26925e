"""Accuracy on ImageNet-A and -R (a part of the classes) and error on ImageNet-C (corrupted images)."""

from collections.abc import Mapping, Sequence

import numpy as np
from torch import Tensor

from mixcl.errors import UserError

ALEXNET_ERRORS = dict(
    gaussian_noise=0.886428,
    shot_noise=0.894468,
    impulse_noise=0.922640,
    defocus_blur=0.819880,
    glass_blur=0.826268,
    motion_blur=0.785948,
    zoom_blur=0.798360,
    snow=0.866816,
    frost=0.826572,
    fog=0.819324,
    brightness=0.564592,
    contrast=0.853204,
    elastic_transform=0.646056,
    pixelate=0.717840,
    jpeg_compression=0.606500,
)
"""AlexNet's error on each of the 15 corruptions of ImageNet-C, averaged over the severities.

Some public scripts list the same errors beside another order of the corruptions.
"""
CORRUPTIONS = tuple(ALEXNET_ERRORS)
SEVERITIES = (1, 2, 3, 4, 5)


def masked_hits(scores: Tensor, labels: Tensor, classes: Tensor, best: int = 1) -> Tensor:
    """Tell whether the label is among the best classes when only some classes may be answered.

    Where scores tie, the class with the lower number comes first.

    Args:
        scores: (B, K) of all classes that the model knows.
        labels: (B,) int64 classes, each one of ``classes``.
        classes: (C,) int64 numbers below K, the classes that may be answered.
        best: how many answers a model has.

    Returns:
        (B,) bool.
    """
    classes = classes.sort().values
    # A stable sort, because topk breaks ties as it likes.
    order = scores[:, classes].argsort(dim=1, descending=True, stable=True)[:, :best]
    return (classes[order] == labels[:, None]).any(dim=1)


def mean_corruption_error(errors: Mapping[str, Sequence[float]]) -> float:
    """Error on each corruption, summed over the severities and divided by AlexNet's, averaged over the corruptions.

    Source: Hendrycks and Dietterich, Benchmarking neural network robustness to common corruptions and perturbations,
    https://arxiv.org/abs/1903.12261, section 3.2 (mCE).

    Args:
        errors: by corruption, the error rates in [0, 1] at the five severities.

    Returns:
        1 for AlexNet; lower is better.

    Raises:
        UserError: if a corruption or a severity is missing.
    """
    for name in CORRUPTIONS:
        if len(errors.get(name, ())) != len(SEVERITIES):
            raise UserError(
                f'mean corruption error needs the errors of all {len(SEVERITIES)} severities of {name}, but '
                f'{len(errors.get(name, ()))} were given'
            )
    return float(np.mean([np.mean(errors[name]) / alexnet for name, alexnet in ALEXNET_ERRORS.items()]))
