"""The rule of evidence.py, written before the results: accuracies, and when a method is better than another."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from evidence_measures import Right
from scipy.stats import t

from mixcl.evaluation.functional.few_labels import SHOTS

NAMED = 'few'
"""The measure that verdicts are about: the mean of the logistic regressions on 1, 2, 5 and 20 labels of each class."""
MEANS = {NAMED: 'logistic', 'few_means': 'means', 'tuned': 'tuned'}
"""Measures that are means over the numbers of labels, and the kind of result averaged."""
MEASURES = {
    NAMED: '1-20 labels',
    **{f'few{shot}_logistic': f'{shot} label{"s" * (shot > 1)}' for shot in SHOTS},
    'few_means': '1-20 labels by class means',
    'tuned': '1-20 labels fine-tuned',
    'nearest': '1-NN, all labels',
    'linear': 'linear probe',
}
"""Measures that are shown, and their headings."""
RESAMPLES = 2000


def values(right: Right, measure: str) -> np.ndarray:
    """Return how correctly each image is classified in each draw, (draws, images) in [0, 1]; empty if not measured."""
    names = [f'few{shot}_{MEANS[measure]}' for shot in SHOTS] if measure in MEANS else [measure]
    rows = [right[name] for name in names if name in right]
    return np.mean(rows, axis=0) if rows else np.empty((0, 0))


def accuracies(right: Right) -> dict[str, float]:
    """Return the accuracies in percent by measure, without those not measured."""
    means = {name: values(right, name) for name in MEASURES}
    return {name: round(100 * float(rows.mean()), 3) for name, rows in means.items() if rows.size}


def accuracy(result: Mapping[str, Any], measure: str = NAMED) -> float:
    """Return an accuracy of the encoder that verdicts are about; a network trained on labels alone has only 'tuned'."""
    accuracies = result['accuracies'][result['encoder']]
    return float(accuracies[measure if measure in accuracies else 'tuned'])


class Difference(NamedTuple):
    """Percentage points by which a method leads another: mean, 95 % interval (NaN for one seed), and by seed."""

    mean: float
    low: float
    high: float
    by_seed: tuple[float, ...]

    @property
    def verdict(self) -> str:
        if len(self.by_seed) < 2:
            return 'one seed'
        return 'better' if self.low > 0 else 'worse' if self.high < 0 else 'not told apart'


def difference(own: Sequence[Right], host: Sequence[Right], measure: str) -> Difference:
    """Compare two methods by what they got right with the same seeds, in order.

    The variance of the mean difference is the sum of that of seeds, s^2 / n, and that of the choice of test images and
    draws, by resampling both. The interval is that of Student's t with n - 1 degrees of freedom. If methods differ in
    the number of draws, the first ones count.
    """
    pairs = [(values(one, measure), values(other, measure)) for one, other in zip(own, host, strict=True)]
    draws = min(len(rows) for pair in pairs for rows in pair)
    apart = np.stack([100 * (one[:draws] - other[:draws]) for one, other in pairs])  # (seeds, draws, images)
    by_seed = apart.mean(axis=(1, 2))
    mean, half = float(by_seed.mean()), float('nan')
    if len(by_seed) > 1:
        variance = by_seed.var(ddof=1) / len(by_seed) + _resampled(apart.mean(axis=0)).var(ddof=1)
        half = float(t.ppf(0.975, len(by_seed) - 1) * variance**0.5)
    return Difference(mean, mean - half, mean + half, tuple(by_seed))


def _resampled(apart: np.ndarray) -> np.ndarray:
    """Return means (resamples,) of (draws, images), both drawn with replacement."""
    random = np.random.default_rng(0)
    draws, images = apart.shape
    of_draws = random.multinomial(draws, np.full(draws, 1 / draws), RESAMPLES) / draws
    of_images = random.multinomial(images, np.full(images, 1 / images), RESAMPLES) / images
    return ((of_draws @ apart) * of_images).sum(axis=1)
