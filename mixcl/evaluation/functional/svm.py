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
from mixcl.evaluation.functional.feature_checks import check_several_classes

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


def check_enough(name: str, present: Tensor, value: int, needed: int, purpose: str) -> None:
    """Refuse labels of which a class has too few.

    Args:
        name: what they are, for the message.
        present: (N, C) integers: 1 present, 0 difficult only, -1 absent.
        value: 1 to count images with the class, -1 those without.
        needed: the least count.
        purpose: what needs them, for the message.

    Raises:
        UserError: names the class with the fewest.
    """
    counts = (present == value).sum(dim=0)
    fewest = int(counts.argmin())
    if counts[fewest] < needed:
        kind = 'positive' if value == 1 else 'negative'
        raise UserError(
            f'class number {fewest} has {counts[fewest]} {kind} {name} image(s), but {purpose} needs {needed}: give '
            'the whole data set or lower the setting'
        )


def check_examples(bank_present: Tensor, present: Tensor, folds: int) -> None:
    """Refuse labels of which a class has too few to validate by, or none to test on.

    Args:
        bank_present: (N, C) integers: 1 present, 0 difficult only, -1 absent.
        present: (M, C), the same of the test images.
        folds: of the cross-validation.

    Raises:
        UserError: names the class with the fewest.
    """
    for value in (1, -1):
        check_enough('training', bank_present, value, folds, f'{folds}-fold cross-validation')
    check_enough('test', present, 1, 1, 'average precision')


def svm_average_precisions(
    bank: Tensor,
    bank_present: Tensor,
    queries: Tensor,
    present: Tensor,
    costs: Sequence[float] = COSTS,
    folds: int = FOLDS,
    seed: int = 0,
    jobs: int = 1,
) -> tuple[np.ndarray, np.ndarray]:
    """Train one SVM per class and rank the test images with it.

    The cost of a class is the one with the best mean average precision (scikit-learn's, not interpolated) over the
    folds, the first of ``costs`` where several tie; the folds are stratified and in the order of the images. Images
    whose label for the class is 0 are left out, of training and of test. A process needs about 24 bytes per training
    value: 1 GB for VOC07's 5,011 images in 8,192 dimensions.

    Args:
        bank: (N, D) training features, any floating dtype; need not be normalised.
        bank_present: (N, C) integers: 1 present, 0 difficult only, -1 absent.
        queries: (M, D) test features.
        present: (M, C), the same of the test images.
        costs: candidates for the SVM's C.
        folds: of the cross-validation, at least 2.
        seed: of liblinear.
        jobs: processes; changes speed and memory, never the result.

    Returns:
        (C,) average precisions (area, interpolated) and (C,) those of eleven points, in (0, 1].

    Raises:
        UserError: if features or labels are unusable, or a class has fewer positives or negatives than folds.
    """
    check_several_classes(training=(bank, bank_present), test=(queries, present))
    check_examples(bank_present, present, folds)
    features, labels = normalise(bank), bank_present.cpu().numpy().T
    parallel = Parallel(n_jobs=jobs)
    validated = parallel(
        delayed(cross_validated)(features, label, cost, folds, seed) for label in labels for cost in costs
    )
    best = np.reshape(validated, (len(labels), len(costs))).argmax(axis=1)
    test, test_labels = normalise(queries), present.cpu().numpy().T
    precisions = parallel(
        delayed(_tested)(features, label, costs[number], seed, test, test_label)
        for label, number, test_label in zip(labels, best, test_labels, strict=True)
    )
    area, eleven_point = np.array(precisions).T
    return area, eleven_point


def cross_validated(features: np.ndarray, label: np.ndarray, cost: float, folds: int, seed: int = 0) -> float:
    """Mean average precision of a class over the folds of the training images.

    Args:
        features: (N, D) as :func:`normalise` returns them.
        label: (N,) 1, 0 (left out) or -1.
        cost: C of the SVM.
        folds: parts that the images are cut into, stratified.
        seed: of liblinear.

    Returns:
        in [0, 1].
    """
    kept = label != 0
    with warnings.catch_warnings():
        # The protocol stops liblinear after 2,000 rounds; large costs seldom converge by then.
        warnings.simplefilter('ignore', ConvergenceWarning)
        scores = cross_val_score(
            new_classifier(cost, seed),
            features[kept],
            label[kept],
            cv=StratifiedKFold(folds),
            scoring='average_precision',
        )
    return float(scores.mean())


def scores_of(
    train: np.ndarray, label: np.ndarray, costs: Sequence[float], test: np.ndarray, seed: int = 0
) -> np.ndarray:
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
    images, labels = train[kept], label[kept]
    with warnings.catch_warnings():
        warnings.simplefilter('ignore', ConvergenceWarning)  # as above
        fitted = [new_classifier(cost, seed).fit(images, labels) for cost in costs]
    weights = np.concatenate([classifier.coef_ for classifier in fitted])
    # One product for all costs: the test features are read once.
    return weights @ test.T + np.stack([classifier.intercept_ for classifier in fitted])


def _tested(
    train: np.ndarray, label: np.ndarray, cost: float, seed: int, test: np.ndarray, test_label: np.ndarray
) -> tuple[float, float]:
    kept = test_label != 0
    (scores,) = scores_of(train, label, (cost,), test, seed)
    ranking = scores[kept], test_label[kept] == 1
    return average_precision(*ranking), eleven_point_average_precision(*ranking)
