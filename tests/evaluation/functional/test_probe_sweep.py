import pytest
import torch
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler
from torch import Tensor

from mixcl.errors import UserError
from mixcl.evaluation.functional.probe_sweep import probe_sweep
from mixcl.evaluation.functional.probes import ProbeSettings, train_probes


def random_data(rows: int, seed: int = 0) -> tuple[Tensor, Tensor]:
    random = torch.Generator().manual_seed(seed)
    features = torch.randn(rows, 6, generator=random)
    return features, (features[:, :3] + 0.5 * torch.randn(rows, 3, generator=random)).argmax(dim=1)


@pytest.fixture(scope='module')
def digits() -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Training features, test features and their labels: the pixels, split as mixcl.datasets.Digits does."""
    images, labels = load_digits(return_X_y=True)
    parts = train_test_split(images, labels, test_size=0.2, stratify=labels, random_state=0)
    return tuple(map(torch.tensor, parts))


@pytest.mark.parametrize('projected', [False, True])
def test_reaches_the_optimum_of_scikit_learn_on_digits(
    digits: tuple[Tensor, Tensor, Tensor, Tensor], projected: bool
) -> None:
    train, test, train_labels, test_labels = digits
    if projected:  # 96 random features, which separate the classes less well than the pixels
        directions = torch.randn(64, 96, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
        train, test = ((images / 16 - 0.3).mul(4).tanh() @ directions for images in (train, test))
    scaler = StandardScaler().fit(train)
    optimum = LogisticRegression(max_iter=5000).fit(scaler.transform(train), train_labels)
    expected = 100 * optimum.score(scaler.transform(test), test_labels)
    result = probe_sweep(train, train_labels, test, test_labels)
    assert result.test[result.chosen] > expected - 0.5
    assert result.held_out[result.chosen] == max(result.held_out)


def test_the_held_out_part_is_not_trained_on() -> None:
    # Labels without a relation to the features: only what was trained on can be told.
    random = torch.Generator().manual_seed(0)
    features, labels = torch.randn(200, 150, generator=random), torch.randint(2, (200,), generator=random)
    settings = ProbeSettings(rates=(0.3,), weight_decays=(0.0,), held_out=0.5)
    result = probe_sweep(features, labels, features, labels, settings)
    assert result.held_out[0] < 65
    assert result.test[0] > 95


def test_it_is_a_function_of_the_seed() -> None:
    train, test = random_data(90), random_data(40, seed=1)
    settings = ProbeSettings(epochs=2, batch_size=16)
    first = probe_sweep(*train, *test, settings)
    torch.manual_seed(123)
    assert probe_sweep(*train, *test, settings) == first
    other = ProbeSettings(epochs=2, batch_size=16, seed=1)
    rows = torch.arange(90)
    weights = [train_probes(*train, rows, each).weights for each in (settings, other)]
    assert not torch.equal(*weights)


def test_dead_dimensions_classes_that_training_lacks_and_wild_scales() -> None:
    features, labels = random_data(80)
    scaled = torch.cat([features * torch.logspace(-4, 4, 6), torch.full((80, 2), 3.3)], dim=1)
    settings = ProbeSettings(epochs=20)
    plain = probe_sweep(features, labels, features, labels, settings)
    wild = probe_sweep(scaled, labels, scaled, labels, settings)
    assert wild.test == pytest.approx(plain.test, abs=2)
    with_unseen = probe_sweep(features, labels, features, labels.clone().fill_(7), settings)
    assert with_unseen.test[0] == 0


def test_unusable_features_are_refused() -> None:
    features, labels = random_data(10)
    with pytest.raises(UserError, match='two classes or more, but all 10 training labels are 4'):
        probe_sweep(features, labels.clone().fill_(4), features, labels)
    with pytest.raises(UserError, match='training features have 6 dimensions and test features 5'):
        probe_sweep(features, labels, features[:, :5], labels)
    with pytest.raises(UserError, match='test features contain NaN'):
        probe_sweep(features, labels, features * torch.nan, labels)
    with pytest.raises(UserError, match=r'held_out=0.01 of 10 training images leaves a part empty'):
        probe_sweep(features, labels, features, labels, ProbeSettings(held_out=0.01))
