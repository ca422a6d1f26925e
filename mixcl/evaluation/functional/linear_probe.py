"""Linear probes on stored features: softmax regressions at many learning rates and weight decays at once.

All probes see the same mini-batches: one matrix product computes all logits, another all gradients. Each probe
starts from zero and is trained on standardised features, by SGD with momentum and a cosine schedule, so that it is a
function of features, settings and seed. Learning rate and weight decay are chosen on held-out training features.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain, product
from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn.functional import threshold

from mixcl.evaluation.functional.feature_checks import check_finite, check_settings
from mixcl.randomness import generator
from mixcl.terminal import progress

RATES = (0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0)
WEIGHT_DECAYS = (0.0, 1e-4, 1e-3)
ROWS_AT_ONCE = 4096


@dataclass
class ProbeSettings:
    """Settings of a sweep of linear probes; every learning rate is combined with every weight decay.

    Args:
        rates: initial learning rates for standardised features, each above 0; they are not scaled by the batch size.
        weight_decays: 0 or more; the bias has none.
        epochs: 1 or more.
        batch_size: 1 or more.
        momentum: of SGD, in [0, 1).
        held_out: share of the training features, in (0, 1), on which rate and weight decay are chosen.
        seed: of the held-out part and of the order of the features.

    Raises:
        UserError: if a setting is out of range.
    """

    rates: Sequence[float] = RATES
    weight_decays: Sequence[float] = WEIGHT_DECAYS
    epochs: int = 100
    batch_size: int = 256
    momentum: float = 0.9
    held_out: float = 0.1
    seed: int = 0

    def __post_init__(self) -> None:
        check_settings(type(self).__name__, vars(self))

    @property
    def grid(self) -> list[tuple[float, float]]:
        """Pair (rate, weight decay) of every probe."""
        return list(product(self.rates, self.weight_decays))


def probe_sweep(
    train_features: Tensor,
    train_labels: Tensor,
    test_features: Tensor,
    test_labels: Tensor,
    settings: ProbeSettings | None = None,
) -> dict[str, float]:
    """Choose rate and weight decay on held-out training features, then train on all of them and test.

    The chosen probe has the best accuracy on the held-out features, and the lowest cross-entropy where several tie.

    Args:
        train_features, train_labels: (N, D), two or more, and (N,) int64 classes.
        test_features, test_labels: (M, D) and (M,) int64 classes, on the device that computes.

    Returns:
        top-1 accuracies in percent: ``probe_top1`` of the chosen probe, the number to report; ``probe_held_out``, its
        accuracy on the held-out part when trained on the rest; ``probe_lr{rate}_wd{decay}_top1`` of every probe, the
        best of which is optimistic. Also ``probe_rate`` and ``probe_weight_decay``, which were chosen.

    Raises:
        UserError: if a set is not finite.
    """
    settings = settings or ProbeSettings()
    check_finite(training=train_features, test=test_features)
    num_classes = int(max(train_labels.max(), test_labels.max())) + 1
    best, held_out = choose_probe(train_features, train_labels, num_classes, settings, test_features.device)
    probes = train_probes(train_features, train_labels, num_classes, settings, test_features.device)
    tested, _ = probes.scores(test_features, test_labels)
    rate, decay = settings.grid[best]
    chosen = dict(probe_top1=tested[best], probe_held_out=held_out, probe_rate=rate, probe_weight_decay=decay)
    pairs = zip(settings.grid, tested, strict=True)
    return chosen | {f'probe_lr{rate:g}_wd{decay:g}_top1': accuracy for (rate, decay), accuracy in pairs}


def choose_probe(
    features: Tensor, labels: Tensor, num_classes: int, settings: ProbeSettings, device: torch.device | str = 'cpu'
) -> tuple[int, float]:
    """Return the index in ``settings.grid`` of the best probe on held-out features, and its accuracy in percent."""
    order = torch.randperm(len(labels), generator=generator('held out', settings.seed))
    count = min(max(round(settings.held_out * len(order)), 1), len(order) - 1)
    unseen, kept = order[:count].sort().values, order[count:].sort().values
    chooser = train_probes(features[kept], labels[kept], num_classes, settings, device)
    held_out, losses = chooser.scores(features[unseen], labels[unseen])
    best = max(range(len(held_out)), key=lambda number: (held_out[number], -losses[number]))
    return best, held_out[best]


class Probes(NamedTuple):
    """H trained probes: mean and deviation (D,) of the training features, weights (D, H, C) and bias (H, C)."""

    mean: Tensor
    deviation: Tensor
    weights: Tensor
    bias: Tensor

    def inputs(self, features: Tensor) -> Tensor:
        """Standardise features (B, D), to float32 on the device of the probes."""
        return (features.to(self.mean.device, torch.float32) - self.mean) / self.deviation

    def logits(self, inputs: Tensor) -> Tensor:
        """Compute logits (B, H, C) from standardised features (B, D)."""
        return (inputs @ self.weights.flatten(1)).unflatten(1, self.bias.shape) + self.bias

    def scores(self, features: Tensor, labels: Tensor) -> tuple[list[float], list[float]]:
        """Return top-1 accuracy in percent and mean cross-entropy of every probe on features (N, D), classes (N,)."""
        hits = losses = torch.zeros(len(self.bias), dtype=torch.float64, device=self.mean.device)
        for rows, classes in zip(features.split(ROWS_AT_ONCE), labels.split(ROWS_AT_ONCE), strict=True):
            logits, classes = self.logits(self.inputs(rows)), classes.to(self.mean.device)
            hits = hits + (logits.argmax(dim=2) == classes[:, None]).sum(dim=0)
            own = logits.take_along_dim(classes[:, None, None], dim=2).squeeze(2)
            losses = losses + (logits.logsumexp(dim=2) - own).double().sum(dim=0)
        return (100 * hits / len(labels)).tolist(), (losses / len(labels)).tolist()


@torch.no_grad()
def train_probes(
    features: Tensor, labels: Tensor, num_classes: int, settings: ProbeSettings, device: torch.device | str = 'cpu'
) -> Probes:
    """Train one probe for every rate and weight decay, in the order of ``settings.grid``, on ``device``.

    Features (N, D) have any floating dtype and device, labels (N,) are int64 classes below ``num_classes``.
    """
    mean, deviation = mean_and_deviation(features.float())
    rates, decays = (torch.tensor(values, device=device)[:, None] for values in zip(*settings.grid, strict=True))
    weights, velocity = torch.zeros(2, features.shape[1], len(rates), num_classes, device=device)
    bias, bias_velocity = torch.zeros(2, len(rates), num_classes, device=device)
    probes = Probes(mean.to(device), deviation.to(device), weights, bias)
    steps = settings.epochs * math.ceil(len(labels) / settings.batch_size)
    epochs = (generator('probe batches', settings.seed, epoch) for epoch in range(settings.epochs))
    orders = (torch.randperm(len(labels), generator=random) for random in epochs)
    batches = chain.from_iterable(order.split(settings.batch_size) for order in orders)
    for step, batch in enumerate(progress(batches, f'{len(rates)} linear probes', steps, 'steps')):
        inputs, classes = probes.inputs(features[batch]), labels[batch].to(device)
        # Set tiny numbers to 0: denormal numbers make products on CPUs a hundred times slower.
        errors = threshold(probes.logits(inputs).softmax(dim=2), 1e-20, 0)
        errors[torch.arange(len(batch), device=device), :, classes] -= 1
        errors /= len(batch)  # the gradient of the mean cross-entropy with respect to the logits
        rate = rates * (0.5 * (1 + math.cos(math.pi * step / steps)))
        gradient = (inputs.T @ errors.flatten(1)).view_as(weights).add_(weights * decays)
        weights.sub_(velocity.mul_(settings.momentum).add_(gradient) * rate)
        bias.sub_(bias_velocity.mul_(settings.momentum).add_(errors.sum(dim=0)) * rate)
    return probes


def mean_and_deviation(features: Tensor) -> tuple[Tensor, Tensor]:
    """Return mean and deviation, (D,) each, by which features (N, D) are standardised."""
    deviation, mean = torch.std_mean(features, dim=0, correction=0)
    # A feature that varies only by rounding is a constant, which division would turn into noise.
    return mean, deviation.where(deviation > 1e-6 * mean.abs(), 1)
