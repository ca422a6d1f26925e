"""The mean corruption error: AlexNet against itself, and averages by hand."""

import numpy as np
import pytest

from mixcl.evaluation.functional.robustness import ALEXNET_ERRORS, CORRUPTIONS, mean_corruption_error


def test_alexnet_has_an_error_of_one() -> None:
    # Any spread over the severities with AlexNet's mean.
    spread = np.array([-0.1, -0.05, 0, 0.05, 0.1])
    assert mean_corruption_error(np.array(list(ALEXNET_ERRORS.values()))[:, None] + spread) == pytest.approx(1)


def test_mean_corruption_error_by_hand() -> None:
    errors = np.zeros((15, 5))
    errors[CORRUPTIONS.index('snow')] = [0.2, 0.3, 0.4, 0.5, 0.6]
    errors[CORRUPTIONS.index('brightness')] = 0.1
    assert mean_corruption_error(errors) == pytest.approx((0.4 / 0.866816 + 0.1 / 0.564592) / 15)
