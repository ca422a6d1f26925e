"""The codes and the loss of SwAV: against loops, and against the numbers of lightly."""

import numpy as np
import pytest
import torch
from losses.brute_force import COMPOSITIONS, targets_of, vectors
from torch import Tensor

from mixcl.composition import Composition
from mixcl.losses import SwAV
from mixcl.losses.swav import sinkhorn

ROWS, WIDTH, PROTOTYPES = 6, 5, 4


def objective(**settings) -> SwAV:
    torch.manual_seed(0)
    return SwAV(WIDTH, PROTOTYPES, **dict(queue_from=0) | settings).double()


def codes_by_loops(scores: np.ndarray, epsilon: float, iterations: int) -> np.ndarray:
    """Compute Algorithm 1 of the paper's appendix: columns sum to 1 / K, rows to 1 / G, and in the end rows to 1."""
    rows, columns = scores.shape
    codes = np.exp(scores / epsilon)
    codes /= codes.sum()
    for _ in range(iterations):
        for k in range(columns):
            codes[:, k] /= columns * sum(codes[:, k])
        for i in range(rows):
            codes[i] /= rows * sum(codes[i])
    return rows * codes


@pytest.mark.parametrize(('epsilon', 'iterations'), [(0.05, 3), (0.05, 1), (0.5, 10)])
def test_sinkhorn_by_loops(epsilon: float, iterations: int) -> None:
    scores = 2 * torch.rand(7, PROTOTYPES, dtype=torch.float64) - 1
    codes = sinkhorn(scores, epsilon, iterations)
    np.testing.assert_allclose(codes, codes_by_loops(scores.numpy(), epsilon, iterations), rtol=1e-9)
    torch.testing.assert_close(codes.sum(dim=1), torch.ones(7, dtype=torch.float64))


def test_many_iterations_give_every_prototype_as_much() -> None:
    codes = sinkhorn(torch.randn(12, 3, dtype=torch.float64), 0.5, 200)
    torch.testing.assert_close(codes.sum(dim=0), torch.full((3,), 4.0, dtype=torch.float64))
    assert sinkhorn(torch.randn(12, 3), 1e-4, 3).isfinite().all(), 'where the exponential itself would overflow'


# ----- lightly -----


def waves(rows: int, shift: float) -> Tensor:
    """Return (rows, 4) scores."""
    places = torch.arange(4 * rows, dtype=torch.float64).view(rows, 4)
    return torch.sin(places.square() + shift)


class Scored(SwAV):
    """SwAV on scores instead of projections, since lightly's loss begins after the prototypes."""

    def __init__(self) -> None:
        super().__init__(4, 4, queue_from=0)
        self.prototypes = torch.nn.Identity()

    def begin_step(self, epoch: int) -> None:
        self.epoch = epoch


@pytest.mark.parametrize(('queued', 'expected'), [(False, 5.584751233181), (True, 3.783757184133)])
def test_values_are_those_of_lightly(monkeypatch: pytest.MonkeyPatch, queued: bool, expected: float) -> None:
    """Values of ``SwaVLoss`` (lightly 1.6.0) for the scores of two large crops, a small one, and two queues."""
    monkeypatch.setattr('mixcl.losses.swav.normalised', lambda raw: raw)
    scored, rows = Scored(), Composition.identity(3)
    raw = {name: waves(3, shift) for shift, name in enumerate(('view1', 'view2', 'local'))}
    earlier = dict(view1=waves(5, 3), view2=waves(5, 4)) if queued else {}
    keys = scored.prepare_keys({name: raw[name] for name in ('view1', 'view2')}, earlier)
    losses = [
        scored(scored.prepare_query(raw[query]), keys[key], rows.target(rows)).mean()
        for key in keys
        for query in raw
        if query != key
    ]
    assert sum(losses).item() / len(losses) == pytest.approx(expected, rel=1e-9)


# ----- queues and prototypes -----


def test_the_queue_joins_from_its_epoch_the_streams_that_feed_it() -> None:
    swav = objective(queue_from=2)
    raw, queue = dict(view1=vectors(ROWS, WIDTH, seed=1), view2=vectors(ROWS, WIDTH, seed=2)), vectors(9, WIDTH, seed=3)
    alone = swav.prepare_keys(raw, {})
    for epoch in range(4):
        swav.begin_step(epoch)
        codes = swav.prepare_keys(raw, dict(view2=queue))
        torch.testing.assert_close(codes['view1'], alone['view1'])
        assert torch.allclose(codes['view2'], alone['view2']) == (epoch < 2)
    every = torch.cat([raw['view2'], queue]) @ swav.prototypes.weight.T
    expected = codes_by_loops(every.detach().numpy(), 0.05, 3)[:ROWS]
    np.testing.assert_allclose(codes['view2'], expected, rtol=1e-9)


def test_prototypes_have_length_one_at_every_step() -> None:
    """Gradients are with respect to the prototypes, as in the authors' code, not to their directions."""
    swav = objective()
    for step in range(3):
        swav.begin_step(0)
        torch.testing.assert_close(swav.prototypes.weight.norm(dim=1), torch.ones(PROTOTYPES, dtype=torch.float64))
        swav.prepare_query(vectors(ROWS, WIDTH, seed=step))[:, 0].sum().backward()
        torch.optim.SGD(swav.parameters(), lr=0.5).step()


@pytest.mark.parametrize(('query', 'key'), [('views', 'views'), ('pairs', 'views'), ('pairs', 'pairs')])
def test_a_mixture_finds_the_mean_of_the_codes_of_its_images(query: str, key: str) -> None:
    swav, of_queries, of_keys = objective(), COMPOSITIONS[query](), COMPOSITIONS[key]()
    raw_queries, raw_keys = 3 * vectors(ROWS, WIDTH, seed=1), 0.5 * vectors(ROWS, WIDTH, seed=2)
    rows = swav(swav.prepare_query(raw_queries), swav.prepare_key(raw_keys), of_queries.target(of_keys))
    prototypes = swav.prototypes.weight.detach().numpy()
    predicted = np.exp(raw_queries.numpy() / 3 @ prototypes.T / 0.1)
    predicted /= predicted.sum(axis=1, keepdims=True)
    codes = codes_by_loops(raw_keys.numpy() / 0.5 @ prototypes.T, 0.05, 3)
    table = -np.log(predicted) @ codes.T  # (R, G) cross-entropies
    expected = (targets_of(of_queries, of_keys)[0] * table).sum(axis=1)
    np.testing.assert_allclose(rows.detach(), expected, rtol=1e-6)  # targets are float32


def test_gradients_with_respect_to_projections_and_prototypes() -> None:
    swav, target = objective(), COMPOSITIONS['pairs']().target(COMPOSITIONS['pairs']())
    codes = swav.prepare_key(vectors(ROWS, WIDTH, seed=2).requires_grad_())
    assert not codes.requires_grad
    prototypes = swav.prototypes.weight.detach()
    del swav.prototypes

    def rows(raw: Tensor, prototypes: Tensor) -> Tensor:
        swav.prototypes = lambda directions: directions @ prototypes.T
        return swav(swav.prepare_query(raw), codes, target)

    inputs = 2 * vectors(ROWS, WIDTH, seed=1), prototypes
    assert torch.autograd.gradcheck(rows, [value.clone().requires_grad_() for value in inputs])
