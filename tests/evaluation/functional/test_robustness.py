"""Robustness measures: AlexNet against itself, masks and averages by hand."""

import numpy as np
import pytest
import torch

from mixcl.errors import UserError
from mixcl.evaluation.functional.robustness import ALEXNET_ERRORS, CORRUPTIONS, masked_hits, mean_corruption_error


def test_alexnet_has_an_error_of_one() -> None:
    # Any spread over the severities with AlexNet's mean.
    spread = np.array([-0.1, -0.05, 0, 0.05, 0.1])
    own = {name: error + spread for name, error in ALEXNET_ERRORS.items()}
    assert mean_corruption_error(own) == pytest.approx(1)


def test_mean_corruption_error_by_hand() -> None:
    errors = {name: [0.0] * 5 for name in CORRUPTIONS}
    errors['snow'] = [0.2, 0.3, 0.4, 0.5, 0.6]
    errors['brightness'] = [0.1] * 5
    assert mean_corruption_error(errors) == pytest.approx((0.4 / 0.866816 + 0.1 / 0.564592) / 15)
    errors['frost'] = [0.1] * 4
    with pytest.raises(UserError, match='all 5 severities of frost, but 4 were given'):
        mean_corruption_error(errors)
    del errors['frost']
    with pytest.raises(UserError, match='severities of frost, but 0 were given'):
        mean_corruption_error(errors)


def test_masks_by_hand() -> None:
    scores = torch.tensor([[0.5, 0.1, 0.3, 0.1], [0.4, 0.3, 0.2, 0.1], [0.1, 0.2, 0.2, 0.5]])
    classes = torch.tensor([2, 1])
    # Class 0 wins everywhere or class 3, but may not be answered; the third image ties and the lower number wins.
    assert masked_hits(scores, torch.tensor([2, 2, 1]), classes).tolist() == [True, False, True]
    assert masked_hits(scores, torch.tensor([1, 1, 2]), classes).tolist() == [False, True, False]
    assert masked_hits(scores, torch.tensor([1, 2, 2]), classes, best=5).tolist() == [True] * 3
