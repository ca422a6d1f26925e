"""Average precision against the definitions, word by word, and against scikit-learn."""

import itertools
from fractions import Fraction

import numpy as np
import pytest
from sklearn.metrics import average_precision_score

from mixcl.evaluation.functional.average_precision import average_precision


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
        order = random.permutation(size)
        assert average_precision(scores[order], positive[order]) == found
