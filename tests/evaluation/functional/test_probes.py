import pytest
import torch
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler
from torch import Tensor
from torch.nn.functional import cross_entropy

from mixcl.errors import UserError
from mixcl.evaluation.functional.probes import ProbeSettings, train_probes


def random_data(rows: int, seed: int = 0) -> tuple[Tensor, Tensor]:
    random = torch.Generator().manual_seed(seed)
    features = torch.randn(rows, 6, generator=random)
    return features, (features[:, :3] + 0.5 * torch.randn(rows, 3, generator=random)).argmax(dim=1)


def test_a_weight_decay_leads_to_the_penalised_optimum_of_scikit_learn() -> None:
    features, labels = random_data(300)
    features, labels = StandardScaler().fit_transform(features), labels.numpy()
    reference = LogisticRegression(C=1.0, max_iter=5000, tol=1e-8).fit(features, labels)
    decay = 1 / 300  # scikit-learn's penalty is |w|^2 / 2 beside the sum of the losses
    settings = ProbeSettings(rates=(1.0,), weight_decays=(decay,), epochs=300, batch_size=300)
    rows = torch.tensor(features)
    probes = train_probes(rows, torch.tensor(labels), torch.arange(300), settings)
    weights = probes.weights[:, 0] / probes.deviation[:, None]
    torch.testing.assert_close(weights.T.double(), torch.tensor(reference.coef_), atol=1e-3, rtol=1e-3)
    probabilities = probes.logits(rows)[:, 0].softmax(dim=1)
    torch.testing.assert_close(
        probabilities.double(), torch.tensor(reference.predict_proba(features)), atol=1e-3, rtol=0
    )


def test_one_of_many_probes_is_what_sgd_of_torch_trains_alone() -> None:
    features, labels = random_data(20)
    settings = ProbeSettings(rates=(0.1, 0.5), weight_decays=(0.0, 0.01), epochs=4, batch_size=20, momentum=0.8)
    probes = train_probes(features, labels, torch.arange(20), settings)
    inputs = (features - features.mean(dim=0)) / features.std(dim=0, unbiased=False)
    for number, (rate, decay) in enumerate(settings.grid):
        weights, bias = torch.zeros(6, 3, requires_grad=True), torch.zeros(3, requires_grad=True)
        groups = [dict(params=[weights], weight_decay=decay), dict(params=[bias])]
        optimizer = torch.optim.SGD(groups, lr=rate, momentum=0.8)
        schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=4)
        for _ in range(4):
            optimizer.zero_grad()
            cross_entropy(inputs @ weights + bias, labels).backward()
            optimizer.step()
            schedule.step()
        torch.testing.assert_close(probes.weights[:, number], weights.detach(), atol=1e-6, rtol=1e-5)
        torch.testing.assert_close(probes.bias[number], bias.detach(), atol=1e-6, rtol=1e-5)


def test_accuracy_and_cross_entropy_of_trained_probes() -> None:
    features, labels = random_data(50)
    settings = ProbeSettings(rates=(0.1, 1.0), weight_decays=(0.0,), epochs=3, batch_size=16)
    probes = train_probes(features, labels, torch.arange(50), settings)
    rows, classes = random_data(31, seed=1)
    accuracies, losses = probes.accuracies(rows, classes), probes.cross_entropies(rows, classes)
    for number in range(2):
        logits = probes.logits(rows)[:, number]
        assert accuracies[number] == pytest.approx(100 * (logits.argmax(dim=1) == classes).double().mean().item())
        assert losses[number] == pytest.approx(cross_entropy(logits, classes).item(), rel=1e-5)


@pytest.mark.parametrize(
    ('name', 'value'),
    [
        ('rates', ()), ('rates', (0.1, 0.0)), ('weight_decays', (-1e-4,)), ('epochs', 0), ('batch_size', 0),
        ('momentum', 1.0), ('held_out', 0.0), ('held_out', 1.0),
    ],
)  # fmt: skip
def test_settings_out_of_range_are_refused(name: str, value: object) -> None:
    with pytest.raises(UserError, match=f'linear probe: {name}='):
        ProbeSettings(**{name: value})
