"""Every objective against loops in float64, its gradients against finite differences, and its precision."""

from copy import deepcopy

import numpy as np
import pytest
import torch
from losses import brute_force
from losses.brute_force import COMPOSITIONS, NEGATIVES, WIDTH, case_of, mixtures, vectors
from torch import Tensor

from mixcl.composition import Composition
from mixcl.losses import DINODistillation, InfoNCE, LogMixture, NegativeCosine, Negatives, Similarity, SwAV

TEMPERATURE = 0.3
AMONG = ('batch', 'positives', 'itself')
PAIRS = [
    *((name, 'views') for name in ('views', 'pairs', 'halves', 'clipped')),
    ('pairs', 'pairs'),
    ('crops', 'patches'),
]
"""Pairs (query composition, key composition) in which every row shares something with some key."""


def agree(rows: Tensor, expected: np.ndarray) -> None:
    # Targets are float32.
    np.testing.assert_allclose(rows.detach().numpy(), expected, rtol=1e-6, atol=1e-7)


def drawn(query: str, key: str) -> tuple[Composition, Composition, Tensor, Tensor]:
    of_queries, of_keys = COMPOSITIONS[query](), COMPOSITIONS[key]()
    return of_queries, of_keys, vectors(len(of_queries), WIDTH, seed=1), vectors(len(of_keys), WIDTH, seed=2)


ROW_KINDS = [(among, kind) for among in AMONG for kind in NEGATIVES if among == 'batch' or kind != 'none']


@pytest.mark.parametrize(('query', 'key'), PAIRS)
@pytest.mark.parametrize(('among', 'negatives'), ROW_KINDS)
def test_info_nce_and_log_mixture(query: str, key: str, among: str, negatives: str) -> None:
    of_queries, of_keys, queries, keys = drawn(query, key)
    extra, target = NEGATIVES[negatives](len(queries)), of_queries.target(of_keys)
    case = case_of(queries, keys, of_queries, of_keys, extra)
    for smoothing in (0.0, 0.2):
        rows = InfoNCE(TEMPERATURE, among=among)(queries, keys, target, extra, smoothing=smoothing)
        agree(rows, brute_force.info_nce(case, among, TEMPERATURE, smoothing))
    # A row's own temperature divides and scales.
    rows = LogMixture(0.9, among=among, temperature_scale=2)(queries, keys, target, extra, temperature=TEMPERATURE)
    agree(rows, 2 * TEMPERATURE * brute_force.log_mixture(case, among, TEMPERATURE))


@pytest.mark.parametrize(('query', 'key'), PAIRS)
def test_similarities_to_earlier_keys(query: str, key: str) -> None:
    of_queries, of_keys, queries, keys = drawn(query, key)
    queue = vectors(9, WIDTH, seed=6)
    objective = Similarity(temperature=0.2, key_temperature=0.05)
    prepared = objective.prepare_keys(dict(view1=3 * keys), dict(view1=queue))['view1']
    rows = objective(objective.prepare_query(2 * queries), prepared, of_queries.target(of_keys))
    student, teacher = np.exp((queries @ queue.T).numpy() / 0.2), np.exp((keys @ queue.T).numpy() / 0.05)
    student, teacher = (part / part.sum(axis=1, keepdims=True) for part in (student, teacher))
    agree(rows, (brute_force.targets_of(of_queries, of_keys)[0] * (-np.log(student) @ teacher.T)).sum(axis=1))


@pytest.mark.parametrize(('query', 'key'), PAIRS)
def test_objectives_without_negatives(query: str, key: str) -> None:
    """Cosines, and DINO's cross-entropies, which are linear in the teacher: mixing keys equals mixing losses."""
    of_queries, of_keys, queries, keys = drawn(query, key)
    cosine, dino = NegativeCosine(scale=2), DINODistillation(WIDTH)
    dino.centre.copy_(vectors(1, WIDTH, seed=5))
    student, teacher = np.exp(queries.numpy() / 0.1), np.exp((keys - dino.centre).numpy() / 0.07)
    student, teacher = (part / part.sum(axis=1, keepdims=True) for part in (student, teacher))
    for objective, factor, table in (
        (cosine, 3.0, -2 * (queries @ keys.T).numpy()),  # the lengths of vectors do not count
        (dino, 1.0, -np.log(student) @ teacher.T),
    ):
        prepared = objective.prepare_query(factor * queries), objective.prepare_key(factor * keys)
        rows = objective(*prepared, of_queries.target(of_keys))
        agree(rows, (brute_force.targets_of(of_queries, of_keys)[0] * table).sum(axis=1))


OBJECTIVES = {
    **{f'InfoNCE {among}': InfoNCE(TEMPERATURE, among=among, smoothing=0.1) for among in AMONG},
    **{f'LogMixture {among}': LogMixture(TEMPERATURE, among=among) for among in AMONG},
    'NegativeCosine': NegativeCosine(),
    'DINODistillation': DINODistillation(WIDTH),
    'SwAV': SwAV(WIDTH, num_prototypes=4),
}


@pytest.mark.parametrize('name', [name for name in OBJECTIVES if name != 'SwAV'])  # its codes carry no gradient
def test_gradients_with_respect_to_raw_queries_keys_and_negatives(name: str) -> None:
    objective = deepcopy(OBJECTIVES[name]).double()
    of_queries, of_keys, queries, keys = drawn('pairs', 'pairs')
    target, keep = of_queries.target(of_keys), brute_force.mask(len(queries))
    extra = vectors(brute_force.NUMBER_OF_NEGATIVES, WIDTH, seed=3)

    def rows(raw_queries: Tensor, raw_keys: Tensor, *negatives: Tensor) -> Tensor:
        parts = [Negatives(part, keep) for part in negatives]
        return objective(objective.prepare_query(raw_queries), objective.prepare_key(raw_keys), target, parts)

    inputs = [2 * queries, 0.5 * keys] + [extra] * objective.takes_negatives
    assert torch.autograd.gradcheck(rows, [value.clone().requires_grad_() for value in inputs])


@pytest.mark.parametrize('name', OBJECTIVES)
def test_full_precision_under_autocast(name: str) -> None:
    objective, target = OBJECTIVES[name], mixtures().target(Composition.identity(6))
    queries, keys, extra = (vectors(6, WIDTH, seed=seed).float() for seed in range(3))

    def rows(dtype: torch.dtype) -> Tensor:
        prepared = objective.prepare_query(queries.to(dtype)), objective.prepare_key(keys.to(dtype))
        return objective(*prepared, target, [Negatives(extra)] * objective.takes_negatives)

    expected = rows(torch.float32)
    with torch.autocast('cpu', dtype=torch.bfloat16):
        assert torch.equal(rows(torch.float32), expected) and rows(torch.bfloat16).dtype == torch.float32


@pytest.mark.parametrize('kind', [InfoNCE, LogMixture])
def test_a_row_may_set_one_option_alone(kind: type) -> None:
    for option in (dict(temperature=0.1), dict(among='batch'), dict()):
        kind().check_row(False, **option)


@pytest.mark.parametrize('among', AMONG)
@pytest.mark.parametrize('kind', [InfoNCE, LogMixture])
def test_rows_that_share_nothing_are_named_and_give_no_gradient(kind: type[InfoNCE], among: str) -> None:
    """Views against the mixtures of halves of an odd batch; and a row that lists a key's image with share 0."""
    half = mixtures(5, pairing='halves')
    views = Composition.identity(5)
    sources = torch.cat([views.sources.expand(-1, 2), torch.tensor([[4, 0]])])
    weights = torch.cat([torch.full((5, 2), 0.5), torch.tensor([[1.0, 0.0]])])
    rows_of = Composition(sources, weights)
    target = rows_of.target(half)
    assert target.valid.tolist() == [True, True, True, True, False, False]
    queries = vectors(6, WIDTH, seed=1).requires_grad_()
    losses = kind(TEMPERATURE, among=among)(queries, vectors(2, WIDTH, seed=2), target, NEGATIVES['shared'](6))
    loss = target.mean(losses)
    torch.testing.assert_close(loss, losses[:4].mean())
    loss.backward()
    assert losses[:4].isfinite().all() and queries.grad.isfinite().all()
    assert queries.grad[4:].abs().max() == 0 and queries.grad[:4].abs().sum(dim=1).min() > 0
