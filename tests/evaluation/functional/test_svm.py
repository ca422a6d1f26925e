"""VOC07's SVMs against scikit-learn used directly, and what they refuse."""

import numpy as np
import pytest
import torch
from evaluation.clusters import several_labels
from sklearn.metrics import average_precision_score
from sklearn.model_selection import StratifiedKFold
from sklearn.svm import LinearSVC

from mixcl.errors import UserError
from mixcl.evaluation.functional.average_precision import average_precision, eleven_point_average_precision
from mixcl.evaluation.functional.svm import COSTS, new_classifier, normalise, svm_average_precisions

BANK, BANK_PRESENT = several_labels(90, noise=2.0)
QUERIES, PRESENT = several_labels(60, noise=2.0, seed=1)
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
    """Mean of scikit-learn's average precision over three folds, spelt out."""
    features, label = features[label != 0], label[label != 0]
    precisions = []
    for train, held_out in StratifiedKFold(3).split(features, label):
        svm = plain_svm(cost).fit(features[train], label[train])
        precisions.append(average_precision_score(label[held_out] == 1, svm.decision_function(features[held_out])))
    return float(np.mean(precisions))


def test_the_costs_of_the_protocol() -> None:
    assert len(COSTS) == 19 and COSTS[:3] == (1, 10, 100)
    assert [float(np.log2(cost)) for cost in COSTS[3:]] == list(range(-4, -20, -1))


def test_the_same_as_scikit_learn_used_directly() -> None:
    area, eleven_point = svm_average_precisions(BANK, BANK_PRESENT, QUERIES, PRESENT, FEW_COSTS)
    train, test = scaled(BANK), scaled(QUERIES)
    for number in range(3):
        label, test_label = BANK_PRESENT[:, number].numpy(), PRESENT[:, number].numpy()
        assert (label == 0).any() and (test_label == 0).any()
        candidates = [validated(train, label, cost) for cost in FEW_COSTS]
        svm = plain_svm(FEW_COSTS[int(np.argmax(candidates))]).fit(train[label != 0], label[label != 0])
        scores = svm.decision_function(test[test_label != 0])
        positive = test_label[test_label != 0] == 1
        assert area[number] == pytest.approx(average_precision(scores, positive))
        assert eleven_point[number] == pytest.approx(eleven_point_average_precision(scores, positive))


@pytest.mark.long  # joblib starts processes that import everything
def test_the_number_of_processes_changes_nothing() -> None:
    alone = svm_average_precisions(BANK, BANK_PRESENT, QUERIES, PRESENT, FEW_COSTS)
    together = svm_average_precisions(BANK, BANK_PRESENT, QUERIES, PRESENT, FEW_COSTS, jobs=2)
    assert np.array_equal(alone, together)


def test_difficult_images_take_no_part() -> None:
    nonsense = 100 * torch.randn(30, 6, generator=torch.Generator().manual_seed(5))
    ignored = torch.zeros(30, 3, dtype=torch.int8)
    expected = svm_average_precisions(BANK, BANK_PRESENT, QUERIES, PRESENT, FEW_COSTS)
    found = svm_average_precisions(
        torch.cat([BANK, nonsense]), torch.cat([BANK_PRESENT, ignored]),
        torch.cat([QUERIES, nonsense]), torch.cat([PRESENT, ignored]), FEW_COSTS,
    )  # fmt: skip
    assert np.allclose(expected, found, atol=1e-12)


def test_normalise_survives_zero_features() -> None:
    rows = normalise(torch.tensor([[3.0, 4.0], [0.0, 0.0]]))
    assert rows.dtype == np.float64
    assert np.allclose(rows, [[3 / 5.00001, 4 / 5.00001], [0, 0]], rtol=1e-12)


def test_the_classifier_of_the_protocol() -> None:
    assert new_classifier(0.25).get_params() == plain_svm(0.25).get_params()


@pytest.mark.parametrize(
    ('change', 'message'),
    [
        (dict(present=torch.full_like(PRESENT, -1)), r'class number 0 has 0 positive test image\(s\), but needs 1'),
        (dict(bank_present=BANK_PRESENT[:, 0]), r"kind 'multiple', but 90 features came with labels of shape \(90,\)"),
        (dict(queries=QUERIES * torch.nan), 'test features contain NaN'),
        (dict(bank=BANK[:3], bank_present=torch.ones(3, 3, dtype=torch.int8)), 'has 0 negative training .* needs 3'),
        (dict(bank_present=torch.where(torch.arange(90)[:, None] < 2, 1, -1).expand(90, 3)), 'has 2 positive training'),
    ],
)
def test_refusals(change: dict, message: str) -> None:
    settings = dict(bank=BANK, bank_present=BANK_PRESENT, queries=QUERIES, present=PRESENT, costs=FEW_COSTS) | change
    with pytest.raises(UserError, match=message):
        svm_average_precisions(**settings)
