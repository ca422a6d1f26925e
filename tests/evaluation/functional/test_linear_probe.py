"""Linear probes agree with scikit-learn's logistic regression and torch's SGD."""

from dataclasses import replace

import pytest
import torch
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler
from torch import Tensor
from torch.nn.functional import cross_entropy

from mixcl.evaluation.functional.linear_probe import ProbeSettings, probe_sweep, train_probes


def random_data(rows: int, seed: int = 0) -> tuple[Tensor, Tensor]:
    random = torch.Generator().manual_seed(seed)
    features = torch.randn(rows, 6, generator=random)
    return features, (features[:, :3] + 0.5 * torch.randn(rows, 3, generator=random)).argmax(dim=1)


def test_a_weight_decay_leads_to_the_penalised_optimum_of_scikit_learn() -> None:
    features, labels = random_data(300)
    features, labels = StandardScaler().fit_transform(features), labels.numpy()
    reference = LogisticRegression(C=1.0, max_iter=5000, tol=1e-8).fit(features, labels)
    decay = 1 / 300  # scikit-learn adds the penalty |w|^2 / 2 to the sum of losses
    settings = ProbeSettings(rates=(1.0,), weight_decays=(decay,), epochs=300, batch_size=300)
    rows = torch.tensor(features)
    probes = train_probes(rows, torch.tensor(labels), 3, settings)
    weights = probes.weights[:, 0] / probes.deviation[:, None]
    torch.testing.assert_close(weights.T.double(), torch.tensor(reference.coef_), atol=1e-3, rtol=1e-3)
    probabilities = probes.logits(probes.inputs(rows))[:, 0].softmax(dim=1).double()
    torch.testing.assert_close(probabilities, torch.tensor(reference.predict_proba(features)), atol=1e-3, rtol=0)


def test_each_of_many_probes_is_what_sgd_of_torch_trains_alone() -> None:
    features, labels = random_data(20)
    settings = ProbeSettings(rates=(0.1, 0.5), weight_decays=(0.0, 0.01), epochs=4, batch_size=20, momentum=0.8)
    probes = train_probes(features, labels, 3, settings)
    inputs = (features - features.mean(dim=0)) / features.std(dim=0, unbiased=False)
    accuracies, losses = probes.scores(features, labels)
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
        logits = inputs @ weights + bias
        assert accuracies[number] == pytest.approx(100 * (logits.argmax(dim=1) == labels).double().mean().item())
        assert losses[number] == pytest.approx(cross_entropy(logits, labels).item(), rel=1e-4)


def test_the_held_out_part_is_not_trained_on() -> None:
    # Labels are unrelated to the features: only labels that were trained on can be predicted.
    random = torch.Generator().manual_seed(0)
    features, labels = torch.randn(200, 150, generator=random), torch.randint(2, (200,), generator=random)
    settings = ProbeSettings(rates=(0.3,), weight_decays=(0.0,), held_out=0.5)
    found = probe_sweep(features, labels, features, labels, settings)
    assert found['probe_held_out'] < 65 and found['probe_top1'] > 95


def test_dead_dimensions_classes_that_training_lacks_and_wild_scales() -> None:
    features, labels = random_data(80)
    scaled = torch.cat([features * torch.logspace(-4, 4, 6), torch.full((80, 2), 3.3)], dim=1)
    settings = ProbeSettings(epochs=20)
    plain = probe_sweep(features, labels, features, labels, settings)
    wild = probe_sweep(scaled, labels, scaled, labels, settings)
    accuracies = [name for name in plain if name.startswith('probe_lr')]
    assert len(accuracies) == 7 * 3
    assert [wild[name] for name in accuracies] == pytest.approx([plain[name] for name in accuracies], abs=2)
    with_unseen = probe_sweep(features, labels, features, labels.clone().fill_(7), settings)
    assert {with_unseen[name] for name in accuracies} == {0}


def test_the_held_out_part_chooses_and_the_seed_decides() -> None:
    features, labels = random_data(200)
    images, classes = random_data(200, seed=1)
    settings = ProbeSettings(rates=(1e-6, 0.3), weight_decays=(0.0,), epochs=3, batch_size=16, held_out=0.3)
    # The better probe is worse on wrong labels.
    found = probe_sweep(features, labels, images, (classes + 1) % 3, settings)
    assert found['probe_lr1e-06_wd0_top1'] > found['probe_lr0.3_wd0_top1'] == found['probe_top1']
    assert (found['probe_rate'], found['probe_weight_decay']) == (0.3, 0)
    torch.manual_seed(123)
    assert probe_sweep(features, labels, images, (classes + 1) % 3, settings) == found
    assert probe_sweep(features, labels, images, (classes + 1) % 3, replace(settings, seed=1)) != found
