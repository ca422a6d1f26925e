"""Linear support vector machines on few examples of each class: the VOC07 low-shot protocol.

Source: Goyal et al., Scaling and benchmarking self-supervised visual representation learning,
https://arxiv.org/abs/1905.01235, section 6.2 and its published benchmark; OpenSelfSup follows it.
"""

from collections.abc import Sequence

import numpy as np
import torch
from joblib import Parallel, delayed
from torch import Tensor

from mixcl.evaluation.functional.average_precision import average_precision
from mixcl.evaluation.functional.svm import COSTS, check_examples, normalise, scores_of
from mixcl.randomness import generator
from mixcl.terminal import progress

SHOTS = (1, 2, 4, 8, 16, 32, 64, 96)
SAMPLES = 5
NEGATIVES_PER_POSITIVE = 19


def draw(label: np.ndarray, shot: int, *key: int | str) -> np.ndarray:
    """Choose training images of a class and of its rest at random.

    Args:
        label: (N,) 1, 0 or -1; at least ``shot`` ones and 19 times as many minus ones.
        shot: positives to choose.
        *key: what the choice is a function of.

    Returns:
        (20 * shot,) int64 image numbers without repetition, the positives first.
    """
    random = generator(*key)
    groups = ((1, shot), (-1, NEGATIVES_PER_POSITIVE * shot))
    candidates = [(np.flatnonzero(label == value), count) for value, count in groups]
    return np.concatenate(
        [images[torch.randperm(len(images), generator=random)[:count].numpy()] for images, count in candidates]
    )


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
) -> dict[int, np.ndarray]:
    """Train one SVM per class on k positives and 19 k negatives, for several independent random samples.

    One cost serves all classes and samples of a k: the one with the best mean of the *test* images' mean average
    precision (area, interpolated) over the samples. That choice on the test images is the protocol's, and flatters;
    the papers' numbers are made so. Which images a sample has is a function of (seed, k, sample, class).

    Args:
        bank: (N, D) training features, any floating dtype; need not be normalised.
        bank_present: (N, C) integers: 1 present, 0 difficult only, -1 absent.
        queries: (M, D) test features.
        present: (M, C), the same of the test images.
        shots: values of k.
        samples: random samples per k.
        costs: candidates for the SVM's C.
        seed: of the samples and of liblinear.
        jobs: processes; changes speed and memory, never the result.

    Returns:
        by k the mean average precision of each sample, (samples,), in (0, 1].

    Raises:
        UserError: if features or labels are unusable, or a class has too few positives or negatives.
    """
    check_examples(bank, bank_present, queries, present, max(shots), NEGATIVES_PER_POSITIVE * max(shots))
    train, labels = normalise(bank), bank_present.cpu().numpy().T
    test, test_labels = normalise(queries), present.cpu().numpy().T
    tasks = [(shot, sample, number) for shot in shots for sample in range(samples) for number in range(len(labels))]
    precisions = Parallel(n_jobs=jobs, return_as='generator')(
        delayed(_tested)(train, labels[task[-1]], test, test_labels[task[-1]], costs, seed, task) for task in tasks
    )
    shown = progress(precisions, 'SVMs on few examples', len(tasks), 'samples')
    by_cost = np.reshape(list(shown), (len(shots), samples, len(labels), len(costs))).mean(axis=2)
    return {shot: tested[:, tested.mean(axis=0).argmax()] for shot, tested in zip(shots, by_cost, strict=True)}


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
    kept = test_label != 0
    scores = scores_of(train[chosen], label[chosen], costs, test, seed)
    return [average_precision(score[kept], test_label[kept] == 1) for score in scores]
