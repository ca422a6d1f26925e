"""Many linear probes at once: softmax regressions on the same features, at several learning rates and weight decays.

All probes see the same mini-batches: one product of features and weights computes the logits of all of them, another
one their gradients. Each is trained from zero on standardised features, by SGD with momentum under a cosine schedule,
so that it is a function of features, settings and seed.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product

import torch
from torch import Tensor
from torch.nn.functional import cross_entropy

from mixcl.errors import UserError
from mixcl.randomness import generator

RATES = (0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0)
WEIGHT_DECAYS = (0.0, 1e-4, 1e-3)
ROWS_AT_ONCE = 4096


@dataclass(frozen=True)
class ProbeSettings:
    """How a sweep of linear probes trains; every rate is combined with every weight decay.

    Args:
        rates: initial learning rates for standardised features, each above 0; they are not scaled by the batch size.
        weight_decays: 0 or more; the bias has none.
        epochs: 1 or more.
        batch_size: 1 or more.
        momentum: of SGD, in [0, 1).
        held_out: share of the training features that chooses rate and weight decay, in (0, 1).
        seed: of the held-out part and of the order of the features.

    Raises:
        UserError: if a value is out of range.
    """

    rates: Sequence[float] = RATES
    weight_decays: Sequence[float] = WEIGHT_DECAYS
    epochs: int = 100
    batch_size: int = 256
    momentum: float = 0.9
    held_out: float = 0.1
    seed: int = 0

    def __post_init__(self) -> None:
        ranges = dict(
            rates=bool(self.rates) and all(rate > 0 for rate in self.rates),
            weight_decays=bool(self.weight_decays) and all(decay >= 0 for decay in self.weight_decays),
            epochs=self.epochs >= 1,
            batch_size=self.batch_size >= 1,
            momentum=0 <= self.momentum < 1,
            held_out=0 < self.held_out < 1,
        )
        for name, valid in ranges.items():
            if not valid:
                raise UserError(f'linear probe: {name}={getattr(self, name)!r} is out of range or empty')

    @property
    def grid(self) -> list[tuple[float, float]]:
        """(rate, weight decay) of every probe."""
        return list(product(self.rates, self.weight_decays))


@dataclass(frozen=True)
class Probes:
    """H trained probes.

    Attributes:
        mean: (D,) of the training features.
        deviation: (D,) likewise; 1 where a dimension is constant.
        weights: (D, H, C).
        bias: (H, C).
    """

    mean: Tensor
    deviation: Tensor
    weights: Tensor
    bias: Tensor

    def logits(self, features: Tensor) -> Tensor:
        """(B, H, C) of features (B, D) on any device; on the device of the probes."""
        rows = (features.to(self.mean.device, torch.float32) - self.mean) / self.deviation
        return _logits(rows, self.weights, self.bias)

    def accuracies(self, features: Tensor, labels: Tensor) -> list[float]:
        """Top-1 accuracy of every probe, in percent; labels may name classes that the probes do not know."""
        parts = self._by_parts(features, labels)
        hits = sum((logits.argmax(dim=2) == classes[:, None]).sum(dim=0) for logits, classes in parts)
        return (100 * hits.double() / len(labels)).tolist()

    def cross_entropies(self, features: Tensor, labels: Tensor) -> list[float]:
        """Mean cross-entropy of every probe."""
        parts = self._by_parts(features, labels)
        total = sum(_cross_entropies(logits, classes).double().sum(dim=0) for logits, classes in parts)
        return (total / len(labels)).tolist()

    def _by_parts(self, features: Tensor, labels: Tensor) -> Iterator[tuple[Tensor, Tensor]]:
        for rows, classes in zip(features.split(ROWS_AT_ONCE), labels.split(ROWS_AT_ONCE), strict=True):
            yield self.logits(rows), classes.to(self.mean.device)


@torch.no_grad()
def train_probes(
    features: Tensor, labels: Tensor, rows: Tensor, settings: ProbeSettings, device: torch.device | str = 'cpu'
) -> Probes:
    """Train one probe for every rate and weight decay on some rows of the features.

    Args:
        features: (N, D), any floating dtype and device.
        labels: (N,) int64 classes.
        rows: (n,) int64, which rows to train on.
        settings: of the probes.
        device: where to compute.

    Returns:
        The probes in the order of ``settings.grid``.
    """
    probes = _untrained(features, rows, int(labels.max()) + 1, len(settings.grid), device)
    rates, decays = (torch.tensor(values, device=device)[:, None] for values in zip(*settings.grid, strict=True))
    velocity, bias_velocity = torch.zeros_like(probes.weights), torch.zeros_like(probes.bias)
    steps = settings.epochs * math.ceil(len(rows) / settings.batch_size)
    batches = (batch for epoch in range(settings.epochs) for batch in _batches(rows, epoch, settings))
    for step, batch in enumerate(batches):
        inputs, errors = _errors(probes, features[batch], labels[batch].to(device))
        rate = rates * (0.5 * (1 + math.cos(math.pi * step / steps)))
        gradient = (inputs.T @ errors.flatten(1)).view_as(velocity).add_(probes.weights * decays)
        probes.weights.sub_(velocity.mul_(settings.momentum).add_(gradient) * rate)
        probes.bias.sub_(bias_velocity.mul_(settings.momentum).add_(errors.sum(dim=0)) * rate)
    return probes


def _untrained(features: Tensor, rows: Tensor, classes: int, count: int, device: torch.device | str) -> Probes:
    mean, deviation = (statistic.float().to(device) for statistic in _mean_and_deviation(features, rows))
    weights = torch.zeros(features.shape[1], count, classes, device=device)
    return Probes(mean, deviation, weights, torch.zeros(count, classes, device=device))


def _mean_and_deviation(features: Tensor, rows: Tensor) -> tuple[Tensor, Tensor]:
    """(D,) each, of some rows, in float64 and in parts: the rows of a large data set are not copied."""
    parts = rows.split(ROWS_AT_ONCE)
    mean = sum(features[part].double().sum(dim=0) for part in parts) / len(rows)
    variance = sum((features[part].double() - mean).square().sum(dim=0) for part in parts) / len(rows)
    deviation = variance.sqrt()
    # What varies by rounding only is a constant, which division would turn into noise.
    deviation[deviation <= 1e-6 * mean.abs()] = 1
    return mean, deviation


def _batches(rows: Tensor, epoch: int, settings: ProbeSettings) -> tuple[Tensor, ...]:
    order = torch.randperm(len(rows), generator=generator('probe batches', settings.seed, epoch))
    return rows[order].split(settings.batch_size)


def _logits(inputs: Tensor, weights: Tensor, bias: Tensor) -> Tensor:
    return (inputs @ weights.flatten(1)).unflatten(1, bias.shape) + bias


def _cross_entropies(logits: Tensor, labels: Tensor) -> Tensor:
    """(B, H) of logits (B, H, C)."""
    return cross_entropy(logits.transpose(1, 2), labels[:, None].expand(logits.shape[:2]), reduction='none')


def _errors(probes: Probes, features: Tensor, labels: Tensor) -> tuple[Tensor, Tensor]:
    """Standardised inputs (B, D), and the gradient (B, H, C) of the mean cross-entropy by the logits."""
    inputs = (features.to(labels.device, torch.float32) - probes.mean) / probes.deviation
    errors = _logits(inputs, probes.weights, probes.bias).softmax(dim=2)
    errors[torch.arange(len(labels), device=labels.device), :, labels] -= 1
    return inputs, errors / len(labels)
