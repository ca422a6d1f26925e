"""Average precision against the definitions, word by word, and against scikit-learn."""

from fractions import Fraction

import numpy as np
import pytest
from sklearn.metrics import average_precision_score

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
@pytest.mark.parametrize('seed', range(10))
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
