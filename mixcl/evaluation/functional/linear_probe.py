"""How linearly separable the classes are in frozen features."""

import warnings

from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from torch import Tensor

from mixcl.errors import UserError
from mixcl.evaluation.functional.feature_checks import check_labelled_features, check_same_dimensions

MAX_ITERATIONS = 1000


def linear_probe_accuracy(
    train_features: Tensor, train_labels: Tensor, test_features: Tensor, test_labels: Tensor
) -> float:
    """Fit a logistic regression to standardised features and test it.

    The whole-batch probe of a small data set: scikit-learn's ``LogisticRegression`` (lbfgs, C = 1) after
    ``StandardScaler``. It draws no random numbers.

    Args:
        train_features: (N, D), any floating dtype and device.
        train_labels: (N,) int64 classes, at least two different ones.
        test_features: (M, D).
        test_labels: (M,) int64 classes.

    Returns:
        top-1 accuracy on the test features, in percent.

    Raises:
        UserError: if a set is empty, not finite or not labelled, dimensions differ, or there is one class only.
    """
    check_labelled_features('training', train_features, train_labels)
    check_labelled_features('test', test_features, test_labels)
    check_same_dimensions('training', train_features, 'test', test_features)
    if len(train_labels.unique()) < 2:
        raise UserError(
            f'a linear probe needs two classes or more, but all {len(train_labels)} training labels are '
            f'{train_labels[0].item()}: check the labels of the training set'
        )
    probe = make_pipeline(StandardScaler(), LogisticRegression(max_iter=MAX_ITERATIONS))
    with warnings.catch_warnings():
        # Features that separate the classes have their optimum far out; the accuracy has settled long before.
        warnings.simplefilter('ignore', ConvergenceWarning)
        probe.fit(train_features.double().cpu().numpy(), train_labels.cpu().numpy())
    return 100 * float(probe.score(test_features.double().cpu().numpy(), test_labels.cpu().numpy()))
