"""One-against-rest linear support vector machines on frozen features: the VOC07 classification protocol.

Source: Goyal et al., Scaling and benchmarking self-supervised visual representation learning,
https://arxiv.org/abs/1905.01235, section 6.1 and its published benchmark; OpenSelfSup follows it.
"""

import warnings
from collections.abc import Sequence

import numpy as np
from joblib import Parallel, delayed
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import StratifiedKFold, cross_val_score
from sklearn.svm import LinearSVC
from torch import Tensor

from mixcl.errors import UserError
from mixcl.evaluation.functional.average_precision import average_precision, eleven_point_average_precision
from mixcl.evaluation.functional.feature_checks import check_labelled
from mixcl.terminal import progress

COSTS = (1.0, 10.0, 100.0, *(0.5**power for power in range(4, 20)))
FOLDS = 3


def normalise(features: Tensor) -> np.ndarray:
    """Divide each row by its Euclidean norm plus 1e-5.

    Args:
        features: (N, D), any floating dtype and device.

    Returns:
        (N, D) float64, which liblinear computes in.
    """
    features = features.detach().cpu().double()
    return (features / (features.norm(dim=1, keepdim=True) + 1e-5)).numpy()


def new_classifier(cost: float, seed: int = 0) -> LinearSVC:
    """The protocol's classifier: squared hinge, L2 penalty, dual solver, positives weighted by 2.

    Args:
        cost: C of the SVM, above 0.
        seed: of the order in which liblinear visits the coordinates.
    """
    return LinearSVC(
        penalty='l2',
        loss='squared_hinge',
        dual=True,
        C=cost,
        class_weight={1: 2, -1: 1},
        intercept_scaling=1.0,
        tol=1e-4,
        max_iter=2000,
        random_state=seed,
    )


def check_examples(
    bank: Tensor, bank_present: Tensor, queries: Tensor, present: Tensor, positives: int, negatives: int
) -> None:
    """Refuse features and labels as :func:`check_labelled` does, and labels of which a class has too few.

    Args:
        bank: (N, D) training features.
        bank_present: (N, C) integers: 1 present, 0 difficult only, -1 absent.
        queries: (M, D) test features.
        present: (M, C), the same of the test images; each class must have a positive, which average precision needs.
        positives: how many of the training images each class needs.
        negatives: the same.

    Raises:
        UserError: names the class with the fewest.
    """
    check_labelled('multiple', training=(bank, bank_present), test=(queries, present))
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


def svm_average_precisions(
    bank: Tensor,
    bank_present: Tensor,
    queries: Tensor,
    present: Tensor,
    costs: Sequence[float] = COSTS,
    seed: int = 0,
    jobs: int = 1,
) -> tuple[np.ndarray, np.ndarray]:
    """Train one SVM per class and rank the test images with it.

    The cost of a class is the one with the best mean average precision (scikit-learn's, not interpolated) over
    three folds, the first of ``costs`` where several tie; the folds are stratified and in the order of the images.
    Images whose label for the class is 0 are left out, of training and of test. A process needs about 24 bytes per
    training value: 1 GB for VOC07's 5,011 images in 8,192 dimensions.

    Args:
        bank: (N, D) training features, any floating dtype; need not be normalised.
        bank_present: (N, C) integers: 1 present, 0 difficult only, -1 absent.
        queries: (M, D) test features.
        present: (M, C), the same of the test images.
        costs: candidates for the SVM's C.
        seed: of liblinear.
        jobs: processes; changes speed and memory, never the result.

    Returns:
        (C,) average precisions (area, interpolated) and (C,) those of eleven points, in (0, 1].

    Raises:
        UserError: if features or labels are unusable, or a class has fewer positives or negatives than folds.
    """
    check_examples(bank, bank_present, queries, present, FOLDS, FOLDS)
    features, labels = normalise(bank), bank_present.cpu().numpy().T
    parallel = Parallel(n_jobs=jobs, return_as='generator')
    tasks = [delayed(_cross_validated)(features, label, cost, seed) for label in labels for cost in costs]
    validated = progress(parallel(tasks), 'SVMs of three folds', len(tasks), 'costs')
    best = np.reshape(list(validated), (len(labels), len(costs))).argmax(axis=1)
    test, test_labels = normalise(queries), present.cpu().numpy().T
    precisions = parallel(
        delayed(_tested)(features, label, costs[number], seed, test, test_label)
        for label, number, test_label in zip(labels, best, test_labels, strict=True)
    )
    area, eleven_point = np.array(list(progress(precisions, 'SVMs', len(labels), 'classes'))).T
    return area, eleven_point


def _cross_validated(features: np.ndarray, label: np.ndarray, cost: float, seed: int) -> float:
    """Mean average precision of a class over the folds of the training images."""
    kept = label != 0
    with warnings.catch_warnings():
        # The protocol stops liblinear after 2,000 rounds; large costs seldom converge by then.
        warnings.simplefilter('ignore', ConvergenceWarning)
        scores = cross_val_score(
            new_classifier(cost, seed),
            features[kept],
            label[kept],
            cv=StratifiedKFold(FOLDS),
            scoring='average_precision',
        )
    return float(scores.mean())


def scores_of(train: np.ndarray, label: np.ndarray, costs: Sequence[float], test: np.ndarray, seed: int) -> np.ndarray:
    """Train on the images of a class and its rest, once per cost, and score test images.

    Args:
        train: (N, D) as :func:`normalise` returns them.
        label: (N,) 1, 0 (left out) or -1.
        costs: values of the SVM's C.
        test: (M, D).
        seed: of liblinear.

    Returns:
        (number of costs, M) signed distances to the hyperplane.
    """
    kept = label != 0
    with warnings.catch_warnings():
        warnings.simplefilter('ignore', ConvergenceWarning)  # as above
        fitted = [new_classifier(cost, seed).fit(train[kept], label[kept]) for cost in costs]
    weights = np.concatenate([classifier.coef_ for classifier in fitted])
    # One product for all costs: the test features are read once.
    return weights @ test.T + np.stack([classifier.intercept_ for classifier in fitted])


def _tested(
    train: np.ndarray, label: np.ndarray, cost: float, seed: int, test: np.ndarray, test_label: np.ndarray
) -> tuple[float, float]:
    kept = test_label != 0
    (scores,) = scores_of(train, label, (cost,), test[kept], seed)
    positive = test_label[kept] == 1
    return average_precision(scores, positive), eleven_point_average_precision(scores, positive)
