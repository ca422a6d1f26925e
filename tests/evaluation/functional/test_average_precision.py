"""Average precision against the definitions, word by word, and against scikit-learn."""

import itertools
from fractions import Fraction

import numpy as np
import pytest
from sklearn.metrics import average_precision_score

from mixcl.evaluation.functional.average_precision import average_precision, eleven_point_average_precision


def interpolated_curve(scores: np.ndarray, positive: np.ndarray) -> list[tuple[Fraction, Fraction]]:
    """Exact (recall, precision there or at a higher recall) when everything from a score on is retrieved."""
    curve: list[tuple[Fraction, Fraction]] = []
    for threshold in sorted(set(scores.tolist())):
        retrieved = positive[scores >= threshold].tolist()
        precision = Fraction(sum(retrieved), len(retrieved))
        curve.append((Fraction(sum(retrieved), sum(positive.tolist())), max([precision, *(p for _, p in curve[-1:])])))
    return curve[::-1]


def area(scores: np.ndarray, positive: np.ndarray) -> float:
    curve = [(Fraction(0), Fraction(0)), *interpolated_curve(scores, positive)]
    return float(sum((recall - before) * best for (before, _), (recall, best) in itertools.pairwise(curve)))


def eleven_points(scores: np.ndarray, positive: np.ndarray) -> float:
    curve = interpolated_curve(scores, positive)
    return float(sum(max(p for r, p in curve if r >= Fraction(tenth, 10)) for tenth in range(11)) / 11)


@pytest.mark.parametrize('different_scores', [2, 5, 10**6])
def test_brute_force_on_random_and_tied_scores(different_scores: int) -> None:
    for seed in range(10):
        random = np.random.default_rng(seed)
        size = int(random.integers(1, 60))
        scores, positive = random.integers(different_scores, size=size).astype(float), random.random(size) < 0.4
        positive[random.integers(size)] = True
        found = average_precision(scores, positive)
        assert found == pytest.approx(area(scores, positive), abs=1e-12)
        assert found >= average_precision_score(positive, scores) - 1e-12
        assert eleven_point_average_precision(scores, positive) == pytest.approx(eleven_points(scores, positive))
        order = random.permutation(size)
        assert average_precision(scores[order], positive[order]) == found


def test_recalls_on_the_tenths_count() -> None:
    # Ten positives, of which the first n come before one negative: recalls are exact tenths, no doubles are.
    for first in range(1, 10):
        positive = np.array([True] * first + [False] + [True] * (10 - first))
        scores = -np.arange(11.0)
        assert eleven_point_average_precision(scores, positive) == pytest.approx(eleven_points(scores, positive))
