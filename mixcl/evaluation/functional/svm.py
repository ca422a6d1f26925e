"""One-against-rest linear support vector machines on frozen features: the VOC07 classification protocol.

Source: Goyal et al., Scaling and benchmarking self-supervised visual representation learning,
https://arxiv.org/abs/1905.01235, section 6.1 and its published benchmark; OpenSelfSup follows it.
"""

import warnings
from collections.abc import Sequence
from typing import TypeVar

import numpy as np
from joblib import Parallel, delayed
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import precision_recall_curve
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.svm import LinearSVC
from torch import Tensor

from mixcl.errors import UserError
from mixcl.evaluation.functional.feature_checks import check_finite
from mixcl.evaluation.functional.setting_checks import check_settings
from mixcl.terminal import progress

COSTS = (1.0, 10.0, 100.0, *(0.5**power for power in range(4, 20)))
FOLDS = 3
Classifier = TypeVar('Classifier', LinearSVC, GridSearchCV)


def svm_mean_average_precisions(
    bank: Tensor,
    bank_present: Tensor,
    queries: Tensor,
    present: Tensor,
    costs: Sequence[float] = COSTS,
    seed: int = 0,
    jobs: int = 1,
) -> dict[str, float]:
    """Train one SVM per class and rank the test images with it.

    The cost of a class is the one with the best mean average precision (scikit-learn's, not interpolated) over
    three folds, the first of ``costs`` where several tie; the folds are stratified and in the order of the images.
    Images whose label for the class is 0 are left out, of training and of test. A process needs about 24 bytes per
    training value: 1 GB for VOC07's 5,011 images in 8,192 dimensions.

    Args:
        bank, queries: (N, D) training and (M, D) test features, of any length.
        bank_present, present: (N, C) and (M, C) integers: 1 present, 0 difficult only, -1 absent.
        costs: candidates for the SVM's C.
        seed: of liblinear.
        jobs: processes; changes speed and memory, never the result.

    Returns:
        ``svm_map``, the mean over the classes, in percent, of the average precision (area, interpolated).

    Raises:
        UserError: if a setting is out of range, a set is not finite, or a class has fewer positives or negatives than
            folds.
    """
    check_settings('SVM', dict(costs=costs, seed=seed, jobs=jobs))
    check_examples(bank, bank_present, queries, present, FOLDS, FOLDS)
    train, test = normalise(bank), normalise(queries)
    labels = zip(bank_present.T.cpu().numpy(), present.T.cpu().numpy(), strict=True)
    classes = bank_present.shape[1]
    tested = Parallel(n_jobs=jobs, return_as='generator')(
        delayed(_tested)(train, label, test, own, costs, seed) for label, own in labels
    )
    return dict(svm_map=100 * float(np.mean(list(progress(tested, 'SVMs', classes, 'classes')))))


def check_examples(
    bank: Tensor, bank_present: Tensor, queries: Tensor, present: Tensor, positives: int, negatives: int
) -> None:
    """Refuse features that are not finite, and a class with fewer positive or negative training images than given.

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


def new_classifier(cost: float, seed: int) -> LinearSVC:
    """The protocol's classifier: squared hinge, L2 penalty, dual solver, positives weighted by 2."""
    return LinearSVC(C=cost, dual=True, class_weight={1: 2, -1: 1}, max_iter=2000, random_state=seed)


def fit(classifier: Classifier, features: np.ndarray, label: np.ndarray) -> Classifier:
    """Fit to the features (N, D) of a class, label 1, and its rest, -1; images with the label 0 are left out."""
    with warnings.catch_warnings():
        # The protocol stops liblinear after 2,000 rounds; large costs seldom converge by then.
        warnings.simplefilter('ignore', ConvergenceWarning)
        return classifier.fit(features[label != 0], label[label != 0])


def average_precision(scores: np.ndarray, positive: np.ndarray) -> float:
    """Area under the precision-recall curve, with interpolated precision, as the VOC challenges have it from 2010 on.

    The precision at a recall is the largest at that recall or a higher one (scikit-learn's ``average_precision_score``
    takes it as it is). Scores (N,) are finite; larger ones are retrieved first, equal ones together. Of ``positive``
    (N,) bool one at least is true.
    """
    precision, recall, _ = precision_recall_curve(positive, scores)
    # Ordered from recall 1 down; scikit-learn appends a point (recall 0, precision 1) that no image stands for.
    interpolated = np.maximum.accumulate(precision[:-1])[::-1]
    return float(np.sum(np.diff(recall[-2::-1], prepend=0.0) * interpolated))


def _tested(
    train: np.ndarray, label: np.ndarray, test: np.ndarray, test_label: np.ndarray, costs: Sequence[float], seed: int
) -> float:
    """Average precision of one class."""
    search = GridSearchCV(
        new_classifier(costs[0], seed), dict(C=list(costs)), scoring='average_precision', cv=StratifiedKFold(FOLDS)
    )
    kept = test_label != 0
    return average_precision(fit(search, train, label).decision_function(test[kept]), test_label[kept] == 1)
