"""Neighbours and their votes agree with scikit-learn and brute force."""

import math

import numpy as np
import pytest
import torch
from sklearn.metrics.pairwise import cosine_distances
from sklearn.neighbors import NearestNeighbors
from torch import Tensor

from mixcl.errors import UserError
from mixcl.evaluation.functional import knn
from mixcl.evaluation.functional.knn import knn_accuracy, nearest_neighbours, vote

TEMPERATURE = 0.07


def random_features(rows: int, dimensions: int, seed: int = 0) -> Tensor:
    return torch.randn(rows, dimensions, generator=torch.Generator().manual_seed(seed))


@pytest.mark.parametrize(('k', 'block'), [(1, 7), (20, 7), (200, 7), (20, 32768)])
def test_neighbours_are_those_of_scikit_learn(k: int, block: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(knn, 'QUERIES_AT_ONCE', block)
    monkeypatch.setattr(knn, 'BANK_AT_ONCE', block)
    queries, bank = random_features(57, 24), random_features(300, 24, seed=1)
    search = NearestNeighbors(n_neighbors=k, algorithm='brute', metric='cosine').fit(bank.double().numpy())
    distances, _ = search.kneighbors(queries.double().numpy())
    cosines, indices = nearest_neighbours(queries, bank, k)
    # Neighbours equally near up to rounding may change places.
    exact = 1 - cosine_distances(queries.double().numpy(), bank.double().numpy())
    np.testing.assert_allclose(np.take_along_axis(exact, indices.numpy(), 1), 1 - distances, atol=1e-6)
    assert all(len(set(row)) == k for row in indices.tolist())
    np.testing.assert_allclose(cosines, 1 - distances, atol=1e-6)
    assert cosines.dtype == torch.float32 and indices.dtype == torch.int64


def test_length_does_not_matter_and_zero_has_cosine_zero() -> None:
    bank = torch.tensor([[0.0, 0.0], [-5.0, 0.0], [1e-3, 1e-3]])
    cosines, indices = nearest_neighbours(torch.tensor([[100.0, 0.0]]), bank, 200)
    assert indices.tolist() == [[2, 0, 1]]
    torch.testing.assert_close(cosines, torch.tensor([[0.5**0.5, 0.0, -1.0]]))


def test_half_precision_and_autocast_do_not_lose_precision() -> None:
    queries, bank = (random_features(20, 64) + 5).half(), (random_features(5000, 64, 1) + 5).half()
    expected, _ = nearest_neighbours(queries.float(), bank.float(), 30)
    with torch.autocast('cpu', torch.bfloat16):
        found, _ = nearest_neighbours(queries, bank, 30)
    torch.testing.assert_close(found, expected, rtol=0, atol=1e-6)


def test_one_near_neighbour_outvotes_two_farther_ones() -> None:
    cosines = torch.tensor([[0.9, 0.8, 0.8]], dtype=torch.float64)
    scores = vote(cosines, torch.tensor([[0, 1, 1]]), num_classes=3, temperature=TEMPERATURE)
    unscaled = scores * math.exp(0.9 / TEMPERATURE)
    expected = torch.tensor([[383518.4, 183821.2, 0.0]], dtype=torch.float64)
    torch.testing.assert_close(unscaled, expected, rtol=1e-6, atol=0)
    # The unscaled weights of a tiny temperature would overflow.
    assert vote(cosines, torch.tensor([[1, 0, 0]]), num_classes=2, temperature=1e-4).tolist() == [[0.0, 1.0]]


def brute_force(queries: np.ndarray, labels: np.ndarray, bank: np.ndarray, bank_labels: np.ndarray, k: int) -> dict:
    hits = []
    for query, label in zip(queries, labels, strict=True):
        cosines = bank @ query / np.linalg.norm(bank, axis=1) / np.linalg.norm(query)
        scores: dict[int, float] = {}
        for index in np.argsort(-cosines, kind='stable')[:k]:
            scores[bank_labels[index]] = scores.get(bank_labels[index], 0) + np.exp(cosines[index] / TEMPERATURE)
        order = sorted(scores, key=lambda name: (-scores[name], name))
        hits.append((label in order[:1], label in order[:5]))
    return {f'knn{k}_top{best}': 100 * share for best, share in zip((1, 5), np.mean(hits, axis=0), strict=True)}


def test_many_k_at_once_against_brute_force(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(knn, 'QUERIES_AT_ONCE', 9)  # votes are computed in blocks, too
    queries, bank = random_features(40, 12), random_features(120, 12, seed=1)
    sets = queries, queries[:, :9].argmax(dim=1), bank, bank[:, :9].argmax(dim=1)
    found = knn_accuracy(*sets, (200, 1, 3, 30), TEMPERATURE)
    arrays = [values.double().numpy() for values in sets]
    expected = [brute_force(*arrays, k) for k in (120, 1, 3, 30)]  # named after the whole bank, not 200
    assert found == pytest.approx(dict(item for values in expected for item in values.items()))


@pytest.mark.parametrize(
    ('label', 'hits'),
    [(2, (100, 100)), (4, (0, 100)), (0, (0, 0)), (9, (0, 0))],
)
def test_tied_scores_go_to_the_lower_class_and_no_vote_is_no_hit(label: int, hits: tuple[int, int]) -> None:
    found = knn_accuracy(torch.ones(1, 3), torch.tensor([label]), torch.eye(3), torch.tensor([4, 2, 7]), (3,))
    assert tuple(found.values()) == hits


def test_refuses_what_is_not_finite() -> None:
    with pytest.raises(UserError, match='bank features contain NaN'):
        knn_accuracy(torch.eye(3), torch.arange(3), torch.eye(3) / 0, torch.arange(3))
