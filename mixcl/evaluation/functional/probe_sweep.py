"""A linear probe on cached features whose learning rate and weight decay are chosen on held-out training features."""

from dataclasses import dataclass

import torch
from torch import Tensor

from mixcl.errors import UserError
from mixcl.evaluation.functional.feature_checks import check_labelled_features, check_same_dimensions
from mixcl.evaluation.functional.probes import ProbeSettings, train_probes
from mixcl.randomness import generator


@dataclass(frozen=True)
class SweepResult:
    """What a sweep found.

    Attributes:
        grid: (rate, weight decay) of every probe.
        held_out: top-1 accuracies on the held-out training features, in percent.
        test: top-1 accuracies on the test features, in percent, after training on all training features.
        chosen: index of the probe that was best on the held-out features.
    """

    grid: list[tuple[float, float]]
    held_out: list[float]
    test: list[float]
    chosen: int


def probe_sweep(
    train_features: Tensor,
    train_labels: Tensor,
    test_features: Tensor,
    test_labels: Tensor,
    settings: ProbeSettings | None = None,
    device: torch.device | str = 'cpu',
) -> SweepResult:
    """Choose rate and weight decay on held-out training features, then train on all of them and test.

    Args:
        train_features: (N, D), any floating dtype and device; moved to ``device`` batch by batch.
        train_labels: (N,) int64 classes, at least two different ones.
        test_features: (M, D).
        test_labels: (M,) int64 classes.
        settings: of the probes; None for the defaults.
        device: where to compute.

    Returns:
        The accuracies of all probes, and which one was chosen: by the accuracy on the held-out features, and by the
        cross-entropy there where accuracies tie.

    Raises:
        UserError: if a set is empty, not finite or not labelled, dimensions differ, there is one class only, or the
            held-out part or the rest would be empty.
    """
    settings = settings or ProbeSettings()
    check_labelled_features('training', train_features, train_labels)
    check_labelled_features('test', test_features, test_labels)
    check_same_dimensions('training', train_features, 'test', test_features)
    kept, held_out = _split(train_labels, settings)
    chooser = train_probes(train_features, train_labels, kept, settings, device)
    unseen = train_features[held_out], train_labels[held_out]
    accuracies, losses = chooser.accuracies(*unseen), chooser.cross_entropies(*unseen)
    probes = train_probes(train_features, train_labels, torch.arange(len(train_labels)), settings, device)
    chosen = max(range(len(settings.grid)), key=lambda number: (accuracies[number], -losses[number]))
    return SweepResult(settings.grid, accuracies, probes.accuracies(test_features, test_labels), chosen)


def _split(labels: Tensor, settings: ProbeSettings) -> tuple[Tensor, Tensor]:
    """Indices of the training features to keep and to hold out."""
    if len(labels.unique()) < 2:
        raise UserError(
            f'a linear probe needs two classes or more, but all {len(labels)} training labels are '
            f'{labels[0].item()}: check the labels of the training set'
        )
    count = round(settings.held_out * len(labels))
    if not 0 < count < len(labels):
        raise UserError(
            f'linear probe: held_out={settings.held_out!r} of {len(labels)} training images leaves a part empty; give '
            'more images or another share'
        )
    order = torch.randperm(len(labels), generator=generator('held out', settings.seed))
    return order[count:].sort().values, order[:count].sort().values
