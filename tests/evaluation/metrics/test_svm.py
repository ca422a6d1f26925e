"""VOC07's SVMs agree with scikit-learn used directly, and average precision with its definition; refused settings."""

import numpy as np
import pytest
import torch
from evaluation.clusters import several_labels
from sklearn.metrics import average_precision_score
from sklearn.model_selection import StratifiedKFold
from sklearn.svm import LinearSVC

from mixcl.errors import UserError
from mixcl.evaluation.metrics.svm_metrics import COSTS, VOCSVM, average_precision, new_classifier

BANK, BANK_PRESENT = several_labels(90, noise=2.0)
QUERIES, PRESENT = several_labels(60, noise=2.0, seed=1)
SETS = dict(bank=BANK, bank_labels=BANK_PRESENT, queries=QUERIES, labels=PRESENT)
FEW_COSTS = (1.0, 0.5**4, 0.5**19)


def scaled(features: torch.Tensor) -> np.ndarray:
    rows = features.double().numpy()
    return np.array([row / (np.sqrt((row**2).sum()) + 1e-5) for row in rows])


def plain_svm(cost: float) -> LinearSVC:
    return LinearSVC(
        C=cost, class_weight={1: 2, -1: 1}, intercept_scaling=1.0, penalty='l2', loss='squared_hinge', tol=0.0001,
        dual=True, max_iter=2000, random_state=0,
    )  # fmt: skip


def validated(features: np.ndarray, label: np.ndarray, cost: float) -> float:
    """Compute the mean of scikit-learn's average precision over three folds, spelt out."""
    precisions = []
    for train, held_out in StratifiedKFold(3).split(features, label):
        svm = plain_svm(cost).fit(features[train], label[train])
        precisions.append(average_precision_score(label[held_out] == 1, svm.decision_function(features[held_out])))
    return float(np.mean(precisions))


def test_the_settings_of_the_protocol() -> None:
    assert len(COSTS) == 19 and COSTS[:3] == (1, 10, 100)
    assert [float(np.log2(cost)) for cost in COSTS[3:]] == list(range(-4, -20, -1))
    assert new_classifier(0.25, 0).get_params() == plain_svm(0.25).get_params()


def test_the_same_as_scikit_learn_used_directly() -> None:
    precisions = []
    for label, test_label in zip(BANK_PRESENT.T.numpy(), PRESENT.T.numpy(), strict=True):
        assert (label == 0).any() and (test_label == 0).any()  # these images do not count
        train, label = scaled(BANK)[label != 0], label[label != 0]
        test, positive = scaled(QUERIES)[test_label != 0], test_label[test_label != 0] == 1
        best = FEW_COSTS[int(np.argmax([validated(train, label, cost) for cost in FEW_COSTS]))]
        scores = plain_svm(best).fit(train, label).decision_function(test)
        precisions.append(average_precision(scores, positive))
    found = VOCSVM(FEW_COSTS).compute(**SETS)
    assert found == pytest.approx(dict(svm_map=100 * np.mean(precisions)))


@pytest.mark.parametrize('different_scores', [2, 10**6])
def test_average_precision_is_the_area_under_the_interpolated_curve(different_scores: int) -> None:
    """This holds even if scores tie."""
    for seed in range(10):
        random = np.random.default_rng(seed)
        size = int(random.integers(1, 60))
        scores, positive = random.integers(different_scores, size=size), random.random(size) < 0.4
        positive[random.integers(size)] = True
        expected = before = 0.0
        precisions = {score: positive[scores >= score].mean() for score in scores}
        for score in sorted(precisions, reverse=True):
            recall = positive[scores >= score].sum() / positive.sum()
            expected += (recall - before) * max(value for other, value in precisions.items() if other <= score)
            before = recall
        assert average_precision(scores, positive) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize(
    ('change', 'message'),
    [
        (dict(labels=torch.full_like(PRESENT, -1)), r'class number 0 has 0 positive test image\(s\), but needs 1'),
        (dict(bank=BANK[:3], bank_labels=torch.ones(3, 3, dtype=torch.int8)), 'has 0 negative training .* needs 3'),
        (dict(bank_labels=torch.where(torch.arange(90)[:, None] < 2, 1, -1).expand(90, 3)), 'has 2 positive training'),
    ],
)
def test_refusals(change: dict, message: str) -> None:
    with pytest.raises(UserError, match=message):
        VOCSVM(FEW_COSTS).compute(**SETS | change)
