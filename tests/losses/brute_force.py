"""The objectives as loops over rows and columns in numpy's float64, and random inputs for them."""

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from mixcl.composition import Composition
from mixcl.losses import Negatives
from mixcl.registry import MIXERS

ROWS, COLUMNS, WIDTH = 6, 6, 5
NUMBER_OF_NEGATIVES = 7


def vectors(*shape: int, seed: int = 0) -> Tensor:
    """Return random float64 vectors of length 1 along the last axis."""
    random = torch.Generator().manual_seed(seed)
    return torch.nn.functional.normalize(torch.randn(*shape, generator=random, dtype=torch.float64), dim=-1)


def mixtures(n: int = ROWS, seed: int = 0, **mixer) -> Composition:
    mixer = MIXERS.build(dict(type='Mixup') | mixer)
    return mixer(torch.zeros(n, 3, 4, 4), torch.Generator().manual_seed(seed))[1]


def clipped() -> Composition:
    """Return mixtures, the first two of which list a partner that they do not show."""
    sources = torch.tensor([[0, 1], [1, 0], [2, 3], [3, 2], [4, 5], [5, 4]])
    own = torch.tensor([1.0, 1.0, 0.6, 0.3, 0.5, 0.8])
    return Composition(sources, torch.stack([own, 1 - own], dim=1), reach=2)


COMPOSITIONS = dict(
    views=lambda: Composition.identity(ROWS),
    pairs=lambda: mixtures(),
    halves=lambda: mixtures(pairing='halves'),
    patches=lambda: mixtures(type='PatchMix', num_mix=3, patch_size=1),
    crops=lambda: Composition.cat([mixtures(seed=1), mixtures(seed=2)]),
    clipped=clipped,
)
"""Compositions that streams may have, by name."""

NEGATIVES = dict(
    none=lambda rows: [],
    shared=lambda rows: [Negatives(vectors(NUMBER_OF_NEGATIVES, WIDTH, seed=3))],
    masked=lambda rows: [Negatives(vectors(NUMBER_OF_NEGATIVES, WIDTH, seed=3), mask(rows))],
    per_row=lambda rows: [Negatives(vectors(rows, NUMBER_OF_NEGATIVES, WIDTH, seed=4))],
    several=lambda rows: [
        Negatives(vectors(NUMBER_OF_NEGATIVES, WIDTH, seed=3), mask(rows)),
        Negatives(vectors(rows, NUMBER_OF_NEGATIVES, WIDTH, seed=4), mask(rows, seed=5)),
        Negatives(vectors(2, WIDTH, seed=6)),
    ],
)
"""Negatives by name, for a number of rows."""


def mask(rows: int, seed: int = 9) -> Tensor:
    """Return which negatives count for which row; none does for the first row."""
    keep = torch.rand(rows, NUMBER_OF_NEGATIVES, generator=torch.Generator().manual_seed(seed)) < 0.6
    keep[0] = False
    return keep


@dataclass
class Case:
    """Plain arrays of one call: target and membership (R, G), similarities (R, G), negatives as a list per row."""

    target: np.ndarray
    listed: np.ndarray
    similarities: np.ndarray
    negatives: list[list[float]]


def case_of(queries: Tensor, keys: Tensor, query: Composition, key: Composition, negatives: list[Negatives]) -> Case:
    """Compute the case by loops over compositions and vectors, without the library's targets."""
    target, listed = targets_of(query, key)
    queries, keys = queries.detach(), keys.detach()
    extra = [
        [
            float(query @ own.detach())
            for part in negatives
            for column, own in enumerate(part.vectors if part.vectors.dim() == 2 else part.vectors[row])
            if part.keep is None or part.keep[row, column]
        ]
        for row, query in enumerate(queries)
    ]
    return Case(target, listed, (queries @ keys.T).numpy(), extra)


def targets_of(query: Composition, key: Composition) -> tuple[np.ndarray, np.ndarray]:
    """Return (R, G) targets, and which keys share an image with which row."""
    overlap, listed = overlaps_of(query, key)
    total = overlap.sum(axis=1, keepdims=True)
    return np.divide(overlap, total, out=np.zeros_like(overlap), where=total > 0), listed


def overlaps_of(query: Composition, key: Composition) -> tuple[np.ndarray, np.ndarray]:
    """Return (R, G) sums over images of min(share, share), and which keys share an image with which row."""
    overlap, listed = np.zeros((len(query), len(key))), np.zeros((len(query), len(key)), dtype=bool)
    for i in range(len(query)):
        for j in range(len(key)):
            one, other = shares(query, i), shares(key, j)
            listed[i, j] = bool(one.keys() & other.keys())
            overlap[i, j] = sum(min(one[image], other[image]) for image in one.keys() & other.keys())
    return overlap, listed


def shares(composition: Composition, row: int) -> dict[int, float]:
    found: dict[int, float] = {}
    for image, share in zip(composition.sources[row].tolist(), composition.weights[row].tolist(), strict=True):
        found[image] = found.get(image, 0.0) + share
    return found


def probabilities(case: Case, among: str, temperature: float) -> np.ndarray:
    """Return (R, G) probabilities of the keys."""
    table = np.zeros_like(case.target)
    for i, j in np.ndindex(*table.shape):
        similarities = case.similarities[i]
        against = dict(batch=similarities, positives=similarities[case.listed[i]], itself=similarities[[j]])[among]
        columns = np.array([*against, *case.negatives[i]])
        table[i, j] = np.exp(similarities[j] / temperature) / np.exp(columns / temperature).sum()
    return table


def info_nce(case: Case, among: str, temperature: float, smoothing: float = 0.0) -> np.ndarray:
    """Return (R,) losses."""
    target = (1 - smoothing) * case.target + smoothing / case.target.shape[1]
    return -(target * np.log(probabilities(case, among, temperature))).sum(axis=1)


def log_mixture(case: Case, among: str, temperature: float) -> np.ndarray:
    """Return (R,) losses."""
    return -np.log((case.target * probabilities(case, among, temperature)).sum(axis=1))
