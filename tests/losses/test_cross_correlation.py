"""Barlow Twins' loss and its mixed form: numbers worked by hand, loops over channels and rows, finite differences."""

import itertools

import pytest
import torch
from losses.brute_force import vectors
from torch import Tensor

from mixcl.algorithms.table import mixed_keys
from mixcl.composition import Composition
from mixcl.losses import CrossCorrelation, Keys

WIDTH = 3


def loss_of(queries: Tensor, keys: Tensor, off_diagonal: float, **options: Tensor) -> Tensor:
    objective, rows = CrossCorrelation(off_diagonal), Composition.identity(len(queries))
    prepared = objective.prepare_query(queries), objective.prepare_key(keys)
    losses = objective(*prepared, rows.target(rows), **options)
    assert losses.shape == (len(queries),) and (losses == losses[0]).all()
    return losses[0]


@pytest.mark.parametrize(
    ('queries', 'keys', 'expected'),
    [
        ([[0.0], [2.0]], [[5.0], [7.0]], 0.0),  # both are (-1, 1): C = 1
        ([[0.0], [2.0]], [[3.0], [1.0]], 4.0),  # C = -1: (1 + 1)^2
        ([[0.0, 0.0], [2.0, 6.0]], [[1.0, 5.0], [2.0, 4.0]], 4.0 + 2 * 0.25),  # C = [[1, -1], [1, -1]]
        ([[1.0, 0.0], [3.0, 0.0]], [[1.0, 0.0], [3.0, 0.0]], 1.0),  # a channel that never changes
    ],
)
def test_numbers_worked_by_hand(queries: list, keys: list, expected: float) -> None:
    found = loss_of(*(torch.tensor(values, dtype=torch.float64) for values in (queries, keys)), 0.25)
    assert found.item() == pytest.approx(expected, abs=2e-4)  # the epsilon beside the variance


def standardised_by_loops(rows: Tensor) -> list[list[float]]:
    columns = []
    for channel in rows.T.tolist():
        mean = sum(channel) / len(channel)
        variance = sum((value - mean) ** 2 for value in channel) / len(channel)
        columns.append([(value - mean) / (variance + 1e-5) ** 0.5 for value in channel])
    return [list(row) for row in zip(*columns, strict=True)]


def correlation(first: list, second: list, d: int, e: int) -> float:
    return sum(one[d] * other[e] for one, other in zip(first, second, strict=True)) / len(first)


def test_twins_by_loops() -> None:
    queries, keys = 3 * vectors(5, WIDTH, seed=1) + 1, 2 * vectors(5, WIDTH, seed=2)
    first, second = map(standardised_by_loops, (queries, keys))
    expected = 0.0
    for d, e in itertools.product(range(WIDTH), repeat=2):
        c = correlation(first, second, d, e)
        expected += (1 - c) ** 2 if d == e else 0.1 * c**2
    assert loss_of(queries, keys, 0.1).item() == pytest.approx(expected, rel=1e-9)


PARTNERS, SHARE = [2, 0, 2, 4, 1], [0.7, 0.1, 0.5, 1.0, 0.4]
"""Mixture 2 shows one image twice."""

MIXTURES = Composition(
    torch.stack([torch.arange(5), torch.tensor(PARTNERS)], dim=1).add(10),
    torch.tensor([[share, 1 - share] for share in SHARE], dtype=torch.float64),
)
VIEWS = Composition.identity(5, start=10)


def test_mixed_keys_are_of_the_views_that_pixels_are_from() -> None:
    first, second = vectors(5, WIDTH, seed=1), vectors(5, WIDTH, seed=2)
    keys = [Keys(part, VIEWS, 0) for part in (first, second)]
    for parts, others in ((keys, second), (keys[:1], first)):
        expected = [
            share * first[i] + (1 - share) * others[partner]
            for i, (partner, share) in enumerate(zip(PARTNERS, SHARE, strict=True))
        ]
        torch.testing.assert_close(mixed_keys(MIXTURES, parts), torch.stack(expected))


def test_mixtures_by_loops() -> None:
    queries, first, second = (vectors(5, WIDTH, seed=seed) for seed in (1, 2, 3))
    objective = CrossCorrelation()
    keys = [Keys(objective.prepare_key(part), VIEWS, 0) for part in (first, second)]
    target = MIXTURES.owned().target(VIEWS)
    rows = objective(objective.prepare_query(queries), keys[1].vectors, target, mixture=mixed_keys(MIXTURES, keys))
    mixed, one, two = map(standardised_by_loops, (queries, first, second))
    wanted = [
        [share * a + (1 - share) * b for a, b in zip(one[i], two[partner], strict=True)]
        for i, (partner, share) in enumerate(zip(PARTNERS, SHARE, strict=True))
    ]
    expected = sum(
        (correlation(mixed, two, d, e) - correlation(wanted, two, d, e)) ** 2
        for d, e in itertools.product(range(WIDTH), repeat=2)
    )
    assert rows.tolist() == pytest.approx([expected] * 5, rel=1e-9)


def test_rows_without_a_key_take_no_part() -> None:
    queries, keys = vectors(5, WIDTH, seed=1), vectors(5, WIDTH, seed=2)
    objective, target = CrossCorrelation(0.1), Composition.identity(5).target(Composition.identity(4))
    prepared = objective.prepare_query(queries)
    found = objective(prepared, keys[:4], target)
    correlations = prepared[:4].T @ keys[:4] / 4
    torch.testing.assert_close(found, objective.of_twins(correlations).expand(5))
    assert (
        CrossCorrelation()(prepared, keys[:4], Composition.identity(5, 9).target(Composition.identity(4)))
        .isfinite()
        .all()
    )


def test_gradients_are_those_of_finite_differences() -> None:
    inputs = [vectors(4, WIDTH, seed=seed).requires_grad_() for seed in (1, 2)]
    assert torch.autograd.gradcheck(lambda *parts: loss_of(*parts, 0.1), inputs)


def test_half_precision_is_computed_in_float32() -> None:
    queries, keys = vectors(6, WIDTH, seed=1).bfloat16(), vectors(6, WIDTH, seed=2).bfloat16()
    with torch.autocast('cpu', torch.bfloat16):
        found = loss_of(queries, keys, 0.1)
    assert found.dtype == torch.float32
    torch.testing.assert_close(found.double(), loss_of(queries.double(), keys.double(), 0.1), rtol=1e-5, atol=1e-6)
