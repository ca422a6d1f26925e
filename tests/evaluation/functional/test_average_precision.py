"""Average precision against the definitions, word by word, and against scikit-learn."""

from fractions import Fraction

import numpy as np
import pytest
from sklearn.metrics import average_precision_score

from mixcl.errors import UserError
from mixcl.evaluation.functional.average_precision import average_precision, eleven_point_average_precision


def points(scores: np.ndarray, positive: np.ndarray) -> list[tuple[Fraction, Fraction]]:
    """Exact (recall, precision) when everything from a score on is retrieved, for every score."""
    total = int(positive.sum())
    curve = []
    for threshold in sorted(set(scores.tolist()), reverse=True):
        retrieved = [bool(label) for score, label in zip(scores, positive, strict=True) if score >= threshold]
        curve.append((Fraction(sum(retrieved), total), Fraction(sum(retrieved), len(retrieved))))
    return curve


def interpolated(curve: list[tuple[Fraction, Fraction]], recall: Fraction) -> Fraction:
    return max(precision for reached, precision in curve if reached >= recall)


def area(scores: np.ndarray, positive: np.ndarray) -> float:
    curve, before, total = points(scores, positive), Fraction(0), Fraction(0)
    for recall, _ in curve:
        total += (recall - before) * interpolated(curve, recall)
        before = recall
    return float(total)


def eleven_points(scores: np.ndarray, positive: np.ndarray) -> float:
    curve = points(scores, positive)
    return float(sum(interpolated(curve, Fraction(tenth, 10)) for tenth in range(11)) / 11)


@pytest.mark.parametrize('different_scores', [2, 5, 10**6])
@pytest.mark.parametrize('seed', range(20))
def test_brute_force_on_random_and_tied_scores(seed: int, different_scores: int) -> None:
    random = np.random.default_rng(seed)
    size = int(random.integers(1, 60))
    scores = random.integers(different_scores, size=size).astype(float)
    positive = random.random(size) < 0.4
    positive[random.integers(size)] = True
    assert average_precision(scores, positive) == pytest.approx(area(scores, positive), abs=1e-12)
    assert eleven_point_average_precision(scores, positive) == pytest.approx(eleven_points(scores, positive), abs=1e-12)
    assert average_precision(scores, positive) >= average_precision_score(positive, scores) - 1e-12
    order = random.permutation(size)
    assert average_precision(scores[order], positive[order]) == average_precision(scores, positive)


def test_recalls_on_the_tenths_count() -> None:
    # Ten positives, of which the first n come before one negative: recalls are exact tenths, no doubles are.
    for first in range(1, 10):
        positive = np.array([True] * first + [False] + [True] * (10 - first))
        scores = -np.arange(11.0)
        assert eleven_point_average_precision(scores, positive) == pytest.approx(eleven_points(scores, positive))


def test_by_hand() -> None:
    # Precision 1, 1/2, 2/3, 2/4, 3/5 at recall 1/3, 1/3, 2/3, 2/3, 1: interpolated 1, 2/3, 3/5.
    scores, positive = np.array([5.0, 4, 3, 2, 1]), np.array([True, False, True, False, True])
    assert average_precision(scores, positive) == pytest.approx((1 + 2 / 3 + 3 / 5) / 3)
    assert eleven_point_average_precision(scores, positive) == pytest.approx((4 * 1 + 3 * 2 / 3 + 4 * 3 / 5) / 11)


def test_equals_scikit_learn_where_precision_never_rises() -> None:
    for positive in ([True, True, False, False], [True, False, False, False], [False, True, False, True]):
        scores = np.zeros(4) if positive == [False, True, False, True] else -np.arange(4.0)
        expected = average_precision_score(positive, scores)
        assert average_precision(scores, np.array(positive)) == pytest.approx(expected)


def test_no_positive_image_is_refused() -> None:
    with pytest.raises(UserError, match='none of the 3 images is positive'):
        average_precision(np.arange(3.0), np.zeros(3, bool))
