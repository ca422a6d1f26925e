import pytest
import torch
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegressionCV
from sklearn.preprocessing import StandardScaler

from mixcl.errors import UserError
from mixcl.evaluation.functional.linear_probe import linear_probe_accuracy


def test_comes_near_a_cross_validated_probe_on_digits() -> None:
    images, labels = load_digits(return_X_y=True)
    scaler = StandardScaler().fit(images[:1000])
    reference = LogisticRegressionCV(Cs=[0.01, 0.1, 1], cv=3, max_iter=300)
    reference.fit(scaler.transform(images[:1000]), labels[:1000])
    expected = 100 * reference.score(scaler.transform(images[1000:]), labels[1000:])
    features, classes = torch.tensor(images), torch.tensor(labels)
    accuracy = linear_probe_accuracy(features[:1000], classes[:1000], features[1000:], classes[1000:])
    assert accuracy == pytest.approx(expected, abs=2)
    assert accuracy > 85


def test_labels_without_a_relation_to_the_features_stay_at_chance() -> None:
    random = torch.Generator().manual_seed(0)
    features, labels = torch.randn(2000, 5, generator=random), torch.randint(4, (2000,), generator=random)
    assert linear_probe_accuracy(features[:1000], labels[:1000], features[1000:], labels[1000:]) < 33


def test_scale_and_offset_of_a_dimension_do_not_matter() -> None:
    random = torch.Generator().manual_seed(0)
    features = torch.randn(200, 2, generator=random)
    labels = (features[:, 0] > 0).long()
    moved = features * torch.tensor([1e-4, 1e4]) + 3
    assert linear_probe_accuracy(moved[:100], labels[:100], moved[100:], labels[100:]) >= 95


def test_classes_that_separate_perfectly_and_dead_dimensions_are_no_trouble(recwarn: pytest.WarningsRecorder) -> None:
    features = torch.tensor([[-1.0, 0.0], [1.0, 0.0]])
    assert linear_probe_accuracy(features, torch.tensor([3, 5]), features, torch.tensor([3, 5])) == 100
    assert not recwarn.list


@pytest.mark.parametrize(
    ('change', 'message'),
    [
        (dict(train_labels=torch.tensor([2, 2])), 'two classes or more, but all 2 training labels are 2'),
        (dict(test_labels=torch.tensor([0])), 'test labels must be one class per image'),
        (dict(train_features=torch.full((2, 2), torch.nan)), 'training features contain NaN'),
        (dict(test_features=torch.ones(2, 3)), 'training features have 2 dimensions and test features 3'),
        (dict(test_features=torch.ones(0, 2), test_labels=torch.ones(0).long()), 'test features are empty'),
    ],
)
def test_refuses(change: dict, message: str) -> None:
    arguments = dict(
        train_features=torch.eye(2), train_labels=torch.arange(2), test_features=torch.eye(2),
        test_labels=torch.arange(2),
    )  # fmt: skip
    with pytest.raises(UserError, match=message):
        linear_probe_accuracy(**{**arguments, **change})
