"""Measures of a comparison: which test images are classified correctly from frozen features."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
from mmengine.model import BaseModel
from torch import Tensor, nn
from torch.nn.functional import interpolate
from torch.utils.data import DataLoader

from mixcl.errors import UserError
from mixcl.evaluation.features import extract
from mixcl.evaluation.functional.few_labels import DRAWS, SHOTS, few_label_answers
from mixcl.evaluation.functional.knn import TEMPERATURE, nearest_neighbours, vote
from mixcl.evaluation.functional.linear_probe import ProbeSettings, choose_probe, train_probes
from mixcl.registry import MODELS, build
from mixcl.weights import RANDOM, Encoder

Answers = dict[str, np.ndarray]
"""Whether each test image was classified correctly in each draw of labels, (draws, images) bool, by measure; a measure
of several parts has the names ``measure/part``."""

NEIGHBOURS = 10
SIDE = 32
"""Images of which pixels are a baseline have at most this side."""
FITTED = 5000
"""Number of images that a baseline is fitted to; Isomap's memory grows with its square."""
BINS = 4


class Labelled(NamedTuple):
    """Training images (N, ...) or their features, their labels (N,), and the same for the test images."""

    bank: Tensor
    labels: Tensor
    queries: Tensor
    truth: Tensor

    def mapped(self, function: Callable[[Tensor], Tensor]) -> 'Labelled':
        """Apply a function to both sets of features."""
        return self._replace(bank=function(self.bank), queries=function(self.queries))


def features(loaders: Sequence[DataLoader], model: BaseModel, encoder: str = 'online') -> Labelled:
    """Encode the images of two loaders: those to learn from, and those to test on."""
    (bank, labels), (queries, truth) = [extract(model, loader, (encoder,)) for loader in loaders]
    return Labelled(bank[encoder], labels, queries[encoder], truth)


def pixels(loaders: Sequence[DataLoader], preprocessor: Mapping[str, Any]) -> Labelled:
    """Return (N, C, n) float pixels in [0, 255] of the images of two loaders, of at most 32 pixels a side.

    ``preprocessor`` is the config of the data preprocessor.
    """
    settings = dict(preprocessor)
    channels = len(settings['mean'])
    settings |= dict(mean=[0.0] * channels, std=[1.0] * channels)
    found = features(loaders, Encoder(dict(type=Reduced), data_preprocessor=build(MODELS, settings)))
    return found.mapped(lambda rows: rows.unflatten(1, (channels, -1)))


class Reduced(nn.Module):
    """Pixels of images (B, C, h, w), as rows (B, D)."""

    def forward(self, images: Tensor) -> Tensor:
        size = [min(side, SIDE) for side in images.shape[2:]]
        return interpolate(images, size, mode='area').flatten(1)


def raw(images: Labelled) -> Labelled:
    """Pixels in [-1, 1]."""
    return images.mapped(lambda rows: rows.flatten(1) / 127.5 - 1)


def principal_components(images: Labelled) -> Labelled:
    """The first 50 principal components of the pixels."""
    from sklearn.decomposition import PCA

    flat = raw(images)
    count = min(50, *flat.bank[:FITTED].shape)
    return _fitted(flat, PCA(count, random_state=0))


def isomap(images: Labelled) -> Labelled:
    """Isomap of the pixels: 20 dimensions by 10 neighbours."""
    from sklearn.manifold import Isomap

    return _fitted(raw(images), Isomap(n_neighbors=10, n_components=20))


def _fitted(flat: Labelled, function: Any) -> Labelled:
    function.fit(flat.bank[:FITTED].numpy())
    return flat.mapped(lambda rows: torch.from_numpy(function.transform(rows.numpy())))


def histogram(images: Labelled) -> Labelled | None:
    """Square roots of the shares of pixels in 4 x 4 x 4 bins of red, green and blue; None for grey images."""
    if images.bank.shape[1] != 3 or torch.equal(images.bank[:, 0], images.bank[:, 1]):
        return None

    def counted(rows: Tensor) -> Tensor:
        levels = (rows * BINS / 256).long().clamp(0, BINS - 1)
        place = (levels[:, 0] * BINS + levels[:, 1]) * BINS + levels[:, 2]
        counts = torch.zeros(len(rows), BINS**3).scatter_add_(1, place, torch.ones(place.shape))
        return (counts / place.shape[1]).sqrt()

    return images.mapped(counted)


BASELINES: dict[str, Callable[[Labelled], Labelled | None]] = dict(
    pixels=raw, pca=principal_components, histogram=histogram, isomap=isomap
)
"""Features without a network, of the pixels of images."""
SCRATCH = 'scratch'
"""The network of the first run, trained on few labels alone."""
NETWORKS = (RANDOM, SCRATCH)


def possible(shots: Sequence[int], labels: Tensor) -> list[int]:
    """Return the numbers of labels per class that the smallest class has."""
    fewest = int(labels.unique(return_counts=True)[1].min())
    return [shot for shot in shots if shot <= fewest]


def few_labels(images: Labelled, shots: Sequence[int] = SHOTS, draws: int = DRAWS) -> Answers:
    """Logistic regressions on 1, 2, 5 and 20 labels per class, as far as the smallest class has them."""
    shots = possible(shots, images.labels)
    answers = few_label_answers(images.bank, images.labels, images.queries, shots, draws)
    return {f'few_labels/{shot}': _right(answers[shot, 'logistic'], images) for shot in shots}


def knn(images: Labelled) -> Answers:
    """The vote of the 10 nearest of all labelled images, weighted as the protocol says."""
    cosines, places = nearest_neighbours(images.queries, images.bank, NEIGHBOURS)
    scores = vote(cosines.cpu(), images.labels[places.cpu()], int(images.labels.max()) + 1, TEMPERATURE)
    return dict(knn=_right(scores.argmax(dim=1)[None], images))


def nearest(images: Labelled) -> Answers:
    """The nearest of all labelled images, by cosine."""
    _, places = nearest_neighbours(images.queries, images.bank, 1)
    return dict(nearest=_right(images.labels[places.cpu()].T, images))


def linear_fast(images: Labelled) -> Answers:
    """The linear probe whose rate and weight decay were best on held-out training images."""
    settings, classes = ProbeSettings(), int(images.labels.max()) + 1
    best, _ = choose_probe(images.bank, images.labels, classes, settings)
    probes = train_probes(images.bank, images.labels, classes, settings)
    return dict(linear_fast=_right(probes.logits(probes.inputs(images.queries)).argmax(dim=2)[:, best][None], images))


def _right(answers: Tensor, images: Labelled) -> np.ndarray:
    return (answers.cpu() == images.truth).numpy()


def twins(images: Labelled) -> Answers:
    """Whether the nearest image of the other set shows the same thing: (2, things), one row for each direction.

    For pictures of the same things by two hands, where every thing is a class of its own.

    Raises:
        UserError: if the sets have not one picture of each thing.
    """
    things = images.labels.argsort(), images.truth.argsort()
    if not torch.equal(images.labels[things[0]], images.truth[things[1]]) or len(images.truth.unique()) < len(
        things[1]
    ):
        raise UserError(
            'twins is for two sets with one picture of each thing, such as emoji_twins: choose another measure'
        )
    bank, queries = images.bank[things[0]], images.queries[things[1]]
    found = [nearest_neighbours(*each, 1)[1][:, 0].cpu() for each in ((queries, bank), (bank, queries))]
    return dict(twins=torch.stack([places == torch.arange(len(places)) for places in found]).numpy())


MEASURES: dict[str, Callable[[Labelled], Answers]] = dict(
    few_labels=few_labels, knn=knn, nearest=nearest, linear_fast=linear_fast, twins=twins
)
TUNED = 'few_finetuned'
"""The measure of :mod:`mixcl.comparison.fine_tuning`."""
FROZEN = ('few_labels', 'linear_fast', 'knn')
"""Measures of frozen features, each image of which is known to be right or wrong."""


def protocol_of(measure: str) -> str:
    """Return the protocol of a measure, ``PROTOCOL`` or ``PROTOCOL@DATA``."""
    return measure.partition('@')[0]


def measured(images: Labelled, measures: Sequence[str]) -> Answers:
    """Take those of the measures that are of frozen features."""
    return {
        name.replace(protocol_of(measure), measure, 1): rows
        for measure in measures
        if protocol_of(measure) in MEASURES
        for name, rows in MEASURES[protocol_of(measure)](images).items()
    }


def values(answers: Mapping[str, np.ndarray], measure: str) -> np.ndarray:
    """Return how correctly each image is classified in each draw, (draws, images) in [0, 1]: the mean over the parts of
    a measure; (0, 0) if it was not taken."""
    rows = [right for name, right in answers.items() if measure in (name, name.rpartition('/')[0])]
    return np.mean(rows, axis=0) if rows else np.empty((0, 0))
