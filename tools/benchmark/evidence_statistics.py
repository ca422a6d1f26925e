"""The rule of evidence.py, written before the results: accuracies, and when a method is better than another."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from evidence_measures import Right

from mixcl.evaluation.functional import paired_difference
from mixcl.evaluation.functional.few_labels import SHOTS
from mixcl.evaluation.functional.paired_difference import Difference

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


def difference(own: Sequence[Right], host: Sequence[Right], measure: str) -> Difference:
    """Compare two methods in a measure by what they got right with the same seeds, in order."""
    own_rows, host_rows = ([values(one, measure) for one in rights] for rights in (own, host))
    return paired_difference.difference(own_rows, host_rows)
