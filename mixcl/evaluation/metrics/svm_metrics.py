"""Linear support vector machines on frozen features, one per class against the rest: the protocols of VOC07.

Source: Goyal et al., Scaling and benchmarking self-supervised visual representation learning,
https://arxiv.org/abs/1905.01235, sections 6.1 and 6.2, and its published benchmark; OpenSelfSup follows it.
"""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
import torch
from joblib import Parallel, delayed
from torch import Tensor

from mixcl.errors import UserError
from mixcl.evaluation.functional.feature_checks import check_finite
from mixcl.evaluation.metrics.base import CheckedMetric
from mixcl.randomness import generator
from mixcl.registry import METRICS
from mixcl.terminal import progress

COSTS = (1.0, 10.0, 100.0, *(0.5**power for power in range(4, 20)))
FOLDS = 3
NEGATIVES_PER_POSITIVE = 19


@METRICS.register_module()
@dataclass
class VOCSVM(CheckedMetric):
    """Mean average precision of one SVM per class on the test images; labels are presence, (N, C).

    The cost of a class is the one with the best mean average precision (scikit-learn's, not interpolated) over
    three folds; ties go to the first of ``costs``. The folds are stratified and in the order of the images.
    Images whose label for the class is 0 are left out of training and test. A process needs about 24 bytes per
    training value: 1 GB for VOC07's 5,011 images in 8,192 dimensions.

    The result is ``svm_map``: the mean over the classes, in percent, of the average precision (area, interpolated).

    Args:
        costs: candidates for the SVM's C, each above 0.
        seed: of liblinear.
        jobs: number of processes, -1 for one per CPU core; changes speed and memory, never the result.

    Raises:
        UserError: if a setting is out of range; in ``compute``, if a set is not finite, or a class has fewer
            positives or negatives than folds, or no positive test image.
    """

    costs: Sequence[float] = COSTS
    seed: int = 0
    jobs: int = 1

    def compute(self, bank: Tensor, bank_labels: Tensor, queries: Tensor, labels: Tensor) -> dict[str, float]:
        check_examples(bank, bank_labels, queries, labels, FOLDS, FOLDS)
        keys = [(number,) for number in range(labels.shape[1])]
        return dict(svm_map=100 * float(np.mean(self._tested(keys, bank, bank_labels, queries, labels))))

    def _tested(self, keys: Sequence[tuple[int, ...]], *sets: Tensor) -> list[Any]:
        """Run :meth:`tested` for each of the keys, whose last number is that of a class."""
        bank, bank_labels, queries, labels = sets
        features = normalise(bank), normalise(queries)
        train_labels, test_labels = bank_labels.T.cpu().numpy(), labels.T.cpu().numpy()
        results = Parallel(n_jobs=self.jobs, return_as='generator')(
            delayed(self.tested)(*features, train_labels[key[-1]], test_labels[key[-1]], key) for key in keys
        )
        return list(progress(results, 'SVMs', len(keys), 'SVMs'))

    def tested(self, train: np.ndarray, test: np.ndarray, known: np.ndarray, truth: np.ndarray, key: tuple) -> Any:
        """Compute the average precision of a class from features (N, D) and (M, D), and labels (N,) and (M,)."""
        from sklearn.model_selection import GridSearchCV, StratifiedKFold

        search = GridSearchCV(
            new_classifier(self.costs[0], self.seed),
            dict(C=list(self.costs)),
            scoring='average_precision',
            cv=StratifiedKFold(FOLDS),
        )
        kept = truth != 0
        return average_precision(fit(search, train, known).decision_function(test[kept]), truth[kept] == 1)


@METRICS.register_module()
@dataclass
class VOCLowShot(VOCSVM):
    """Like :class:`VOCSVM`, but on k positives and 19 k negatives of each class, for several random samples.

    For each k, all classes and samples share one cost: the one with the best mean of the *test* images' mean average
    precision (area, interpolated) over the samples. Choosing on the test images is optimistic, but the protocol and the
    papers' numbers do so. The images of a sample are a function of (seed, k, sample, class).

    The results for every k, in percent, are ``lowshot{k}_map``, the mean over the samples, and ``lowshot{k}_map_std``,
    their (population) standard deviation.

    Args:
        shots: values of k, 1 or more.
        samples: number of independent random samples per k; other arguments same as :class:`VOCSVM`.
    """

    shots: Sequence[int] = (1, 2, 4, 8, 16, 32, 64, 96)
    samples: int = 5

    def compute(self, bank: Tensor, bank_labels: Tensor, queries: Tensor, labels: Tensor) -> dict[str, float]:
        most = max(self.shots)
        check_examples(bank, bank_labels, queries, labels, most, NEGATIVES_PER_POSITIVE * most)
        keys = [*product(self.shots, range(self.samples), range(labels.shape[1]))]
        precisions = self._tested(keys, bank, bank_labels, queries, labels)
        shape = len(self.shots), self.samples, labels.shape[1], len(self.costs)
        by_cost = 100 * np.reshape(precisions, shape).mean(axis=2)
        best = [means[:, means.mean(axis=0).argmax()] for means in by_cost]
        means = {f'lowshot{shot}_map': float(values.mean()) for shot, values in zip(self.shots, best, strict=True)}
        return means | {f'lowshot{k}_map_std': float(found.std()) for k, found in zip(self.shots, best, strict=True)}

    def tested(self, train: np.ndarray, test: np.ndarray, known: np.ndarray, truth: np.ndarray, key: tuple) -> Any:
        """Compute the average precisions after training on one sample, one per cost; the key is (k, sample, class)."""
        chosen = draw(known, key[0], self.seed, 'low-shot', *key)
        fitted = [fit(new_classifier(cost, self.seed), train[chosen], known[chosen]) for cost in self.costs]
        kept = truth != 0
        # One product for all costs: the test features are read once.
        scores = np.concatenate([classifier.coef_ for classifier in fitted]) @ test.T
        scores += np.stack([classifier.intercept_ for classifier in fitted])
        return [average_precision(score[kept], truth[kept] == 1) for score in scores]


def draw(label: np.ndarray, shot: int, *key: int | str) -> np.ndarray:
    """Choose training images of a class, and 19 times as many of the rest, at random by a key.

    From labels (N,) of 1, 0 or -1, return (20 * shot,) int64 indices without repetition, positives first.
    """
    random, chosen = generator(*key), []
    for value, count in ((1, shot), (-1, NEGATIVES_PER_POSITIVE * shot)):
        images = np.flatnonzero(label == value)
        chosen.append(images[torch.randperm(len(images), generator=random)[:count].numpy()])
    return np.concatenate(chosen)


def check_examples(
    bank: Tensor, bank_present: Tensor, queries: Tensor, present: Tensor, positives: int, negatives: int
) -> None:
    """Refuse features that are not finite, and a class with fewer positive or negative training images than required.

    Each class must also have a positive test image, which average precision needs.
    """
    check_finite(training=bank, test=queries)
    for name, hits, needed in (
        ('positive training', bank_present == 1, positives),
        ('negative training', bank_present == -1, negatives),
        ('positive test', present == 1, 1),
    ):
        fewest = hits.sum(dim=0).min(dim=0)
        if fewest.values < needed:
            raise UserError(
                f'class number {fewest.indices} has {fewest.values} {name} image(s), but needs {needed}: give the '
                'whole data set or change the settings of the metric'
            )


def normalise(features: Tensor) -> np.ndarray:
    """Divide each row (N, D) by its Euclidean norm plus 1e-5, in float64, which liblinear computes in."""
    features = features.detach().cpu().double()
    return (features / (features.norm(dim=1, keepdim=True) + 1e-5)).numpy()


def new_classifier(cost: float, seed: int) -> Any:
    """Build the protocol's classifier: squared hinge, L2 penalty, dual solver, positives weighted by 2."""
    from sklearn.svm import LinearSVC  # importing scikit-learn takes seconds

    return LinearSVC(C=cost, dual=True, class_weight={1: 2, -1: 1}, max_iter=2000, random_state=seed)


def fit(classifier: Any, features: np.ndarray, label: np.ndarray) -> Any:
    """Fit to features (N, D) labelled 1 for a class and -1 for the rest; images labelled 0 are left out."""
    from sklearn.exceptions import ConvergenceWarning

    with warnings.catch_warnings():
        # The protocol stops liblinear after 2,000 iterations; large costs seldom converge by then.
        warnings.simplefilter('ignore', ConvergenceWarning)
        return classifier.fit(features[label != 0], label[label != 0])


def average_precision(scores: np.ndarray, positive: np.ndarray) -> float:
    """Compute the area under the precision-recall curve with interpolated precision, as in VOC challenges since 2010.

    The precision at a recall is the largest at that recall or a higher one (scikit-learn's ``average_precision_score``
    does not interpolate). Scores (N,) are finite; larger ones are retrieved first, equal ones together. At least one
    of ``positive`` (N,) bool is true.
    """
    from sklearn.metrics import precision_recall_curve

    precision, recall, _ = precision_recall_curve(positive, scores)
    # Ordered from recall 1 down; scikit-learn appends a point (recall 0, precision 1) that belongs to no image.
    interpolated = np.maximum.accumulate(precision[:-1])[::-1]
    return float(np.sum(np.diff(recall[-2::-1], prepend=0.0) * interpolated))
