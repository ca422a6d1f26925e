"""Linear support vector machines on few examples of each class: the VOC07 low-shot protocol.

Source: Goyal et al., Scaling and benchmarking self-supervised visual representation learning,
https://arxiv.org/abs/1905.01235, section 6.2 and its published benchmark; OpenSelfSup follows it.
"""

from collections.abc import Sequence

import numpy as np
import torch
from joblib import Parallel, delayed
from torch import Tensor

from mixcl.evaluation.functional.setting_checks import check_settings
from mixcl.evaluation.functional.svm import COSTS, average_precision, check_examples, fit, new_classifier, normalise
from mixcl.randomness import generator
from mixcl.terminal import progress

SHOTS = (1, 2, 4, 8, 16, 32, 64, 96)
SAMPLES = 5
NEGATIVES_PER_POSITIVE = 19


def draw(label: np.ndarray, shot: int, *key: int | str) -> np.ndarray:
    """Choose training images of a class and 19 times as many of its rest at random, by a key.

    Of the labels (N,), 1, 0 or -1, the (20 * shot,) int64 numbers without repetition, the positives first.
    """
    random, chosen = generator(*key), []
    for value, count in ((1, shot), (-1, NEGATIVES_PER_POSITIVE * shot)):
        images = np.flatnonzero(label == value)
        chosen.append(images[torch.randperm(len(images), generator=random)[:count].numpy()])
    return np.concatenate(chosen)


def low_shot_mean_average_precisions(
    bank: Tensor,
    bank_present: Tensor,
    queries: Tensor,
    present: Tensor,
    shots: Sequence[int] = SHOTS,
    samples: int = SAMPLES,
    costs: Sequence[float] = COSTS,
    seed: int = 0,
    jobs: int = 1,
) -> dict[str, float]:
    """Train one SVM per class on k positives and 19 k negatives, for several independent random samples.

    One cost serves all classes and samples of a k: the one with the best mean of the *test* images' mean average
    precision (area, interpolated) over the samples. That choice on the test images is the protocol's, and flatters;
    the papers' numbers are made so. Which images a sample has is a function of (seed, k, sample, class).

    Args:
        bank, bank_present, queries, present, costs, jobs: same as
            :func:`~mixcl.evaluation.functional.svm.svm_mean_average_precisions`.
        shots: values of k, each with so many random ``samples``.

    Returns:
        for every k the mean over the samples, ``lowshot{k}_map``, and their (population) standard deviation,
        ``lowshot{k}_map_std``; in percent.

    Raises:
        UserError: if a setting is out of range, a set is not finite, or a class has too few positives or negatives.
    """
    check_settings('low shot', dict(shots=shots, samples=samples, costs=costs, seed=seed, jobs=jobs))
    check_examples(bank, bank_present, queries, present, max(shots), NEGATIVES_PER_POSITIVE * max(shots))
    train, test = normalise(bank), normalise(queries)
    labels, test_labels = bank_present.T.cpu().numpy(), present.T.cpu().numpy()
    tasks = [(shot, sample, number) for shot in shots for sample in range(samples) for number in range(len(labels))]
    tested = Parallel(n_jobs=jobs, return_as='generator')(
        delayed(_tested)(train, labels[task[-1]], test, test_labels[task[-1]], costs, seed, task) for task in tasks
    )
    precisions = list(progress(tested, 'SVMs on few examples', len(tasks), 'samples'))
    by_cost = 100 * np.reshape(precisions, (len(shots), samples, len(labels), len(costs))).mean(axis=2)
    best = [means[:, means.mean(axis=0).argmax()] for means in by_cost]
    means = {f'lowshot{shot}_map': float(values.mean()) for shot, values in zip(shots, best, strict=True)}
    return means | {f'lowshot{shot}_map_std': float(values.std()) for shot, values in zip(shots, best, strict=True)}


def _tested(
    train: np.ndarray,
    label: np.ndarray,
    test: np.ndarray,
    test_label: np.ndarray,
    costs: Sequence[float],
    seed: int,
    task: tuple[int, int, int],
) -> list[float]:
    """Average precision of one class after training on one sample, for each cost; ``task`` is (k, sample, class)."""
    chosen = draw(label, task[0], seed, 'low-shot', *task)
    fitted = [fit(new_classifier(cost, seed), train[chosen], label[chosen]) for cost in costs]
    kept = test_label != 0
    # One product for all costs: the test features are read once.
    scores = np.concatenate([classifier.coef_ for classifier in fitted]) @ test.T
    scores += np.stack([classifier.intercept_ for classifier in fitted])
    return [average_precision(score[kept], test_label[kept] == 1) for score in scores]
