import math

import numpy as np
import pytest
import torch
from sklearn.metrics import top_k_accuracy_score
from sklearn.neighbors import KNeighborsClassifier

from mixcl.errors import UserError
from mixcl.evaluation.functional.knn import knn_accuracy, knn_hits, vote

TEMPERATURE = 0.07


def blobs(rows: int, classes: int = 8, seed: int = 0) -> tuple[torch.Tensor, torch.Tensor]:
    random = torch.Generator().manual_seed(seed)
    centres = torch.randn(classes, 12, generator=torch.Generator().manual_seed(99))
    labels = torch.randint(classes, (rows,), generator=random)
    return centres[labels] + 1.6 * torch.randn(rows, 12, generator=random), labels


def weights_of(distances: np.ndarray) -> np.ndarray:
    return np.exp((1 - distances) / TEMPERATURE)


def test_one_near_neighbour_outvotes_two_farther_ones() -> None:
    similarities = torch.tensor([[0.9, 0.8, 0.8]], dtype=torch.float64)
    scores = vote(similarities, torch.tensor([[0, 1, 1]]), num_classes=3, temperature=TEMPERATURE)
    unscaled = scores * math.exp(0.9 / TEMPERATURE)
    torch.testing.assert_close(
        unscaled, torch.tensor([[383518.4, 183821.2, 0.0]], dtype=torch.float64), rtol=1e-6, atol=0
    )


def test_vote_survives_a_tiny_temperature() -> None:
    scores = vote(torch.tensor([[0.9, 0.8, -1.0]]), torch.tensor([[1, 0, 0]]), num_classes=2, temperature=1e-4)
    assert scores.tolist() == [[0.0, 1.0]]


@pytest.mark.parametrize('k', [1, 10, 20, 100])
def test_agrees_with_scikit_learn(k: int) -> None:
    (queries, labels), (bank, bank_labels) = blobs(90, seed=1), blobs(400)
    classifier = KNeighborsClassifier(k, weights=weights_of, algorithm='brute', metric='cosine')
    scores = classifier.fit(bank.double().numpy(), bank_labels).predict_proba(queries.double().numpy())
    result = knn_accuracy(queries, labels, bank, bank_labels, (k,), TEMPERATURE)
    assert result[f'knn{k}_top1'] == pytest.approx(100 * top_k_accuracy_score(labels, scores, k=1))
    assert 20 < result[f'knn{k}_top1'] < 95
    # With fewer classes in the vote than five, scikit-learn counts classes without votes; ours never does.
    voted = (np.sort(scores, axis=1)[:, -5] > 0).all()
    if voted:
        assert result[f'knn{k}_top5'] == pytest.approx(100 * top_k_accuracy_score(labels, scores, k=5))
    assert voted == (k >= 100)


def brute_force_hits(
    queries: np.ndarray, labels: np.ndarray, bank: np.ndarray, bank_labels: np.ndarray, k: int
) -> list:
    hits = []
    for query, label in zip(queries, labels, strict=True):
        cosines = bank @ query / np.linalg.norm(bank, axis=1) / np.linalg.norm(query)
        nearest = np.argsort(-cosines, kind='stable')[:k]
        scores = {}
        for index in nearest:
            scores[bank_labels[index]] = scores.get(bank_labels[index], 0) + np.exp(cosines[index] / TEMPERATURE)
        order = sorted(scores, key=lambda name: (-scores[name], name))
        hits.append((label in order[:1], label in order[:5]))
    return hits


@pytest.mark.parametrize('k', [1, 3, 30, 500])
def test_agrees_with_brute_force(k: int) -> None:
    (queries, labels), (bank, bank_labels) = blobs(40, 9, seed=1), blobs(120, 9)
    expected = brute_force_hits(
        *(
            part.double().numpy() if part.is_floating_point() else part.numpy()
            for part in (queries, labels, bank, bank_labels)
        ),
        k,
    )
    hits = knn_hits(queries, labels, bank, bank_labels, (k,), TEMPERATURE)
    assert list(zip(hits[f'knn{k}_top1'].tolist(), hits[f'knn{k}_top5'].tolist(), strict=True)) == expected


def test_many_k_at_once_equal_one_at_a_time() -> None:
    (queries, labels), (bank, bank_labels) = blobs(200, seed=1), blobs(250)
    together = knn_accuracy(queries, labels, bank, bank_labels, (200, 1, 10))
    assert list(together) == [f'knn{k}_top{best}' for k in (200, 1, 10) for best in (1, 5)]
    for k in (200, 1, 10):
        alone = knn_accuracy(queries, labels, bank, bank_labels, [k])
        assert alone == {name: together[name] for name in alone}
    assert len({together[f'knn{k}_top1'] for k in (200, 1, 10)}) == 3


def test_k_beyond_the_bank_keeps_its_name_and_uses_the_whole_bank() -> None:
    (queries, labels), (bank, bank_labels) = blobs(30, seed=1), blobs(15)
    clipped = knn_accuracy(queries, labels, bank, bank_labels, (200,))
    whole = knn_accuracy(queries, labels, bank, bank_labels, (15,))
    assert clipped == {'knn200_top1': whole['knn15_top1'], 'knn200_top5': whole['knn15_top5']}


def test_tied_scores_go_to_the_lower_class_and_no_vote_is_no_hit() -> None:
    bank, bank_labels = torch.eye(3), torch.tensor([4, 2, 7])
    queries = torch.ones(4, 3)
    hits = knn_hits(queries, torch.tensor([2, 4, 7, 0]), bank, bank_labels, (3,))
    assert hits['knn3_top1'].tolist() == [True, False, False, False]
    assert hits['knn3_top5'].tolist() == [True, True, True, False]


def test_a_class_that_the_bank_lacks_is_a_miss() -> None:
    queries, bank = torch.eye(2), torch.eye(2)
    hits = knn_hits(queries, torch.tensor([0, 9]), bank, torch.tensor([0, 1]), (1, 2))
    assert hits['knn1_top1'].tolist() == [True, False]
    assert hits['knn2_top5'].tolist() == [True, False]


def test_scores_are_summed_in_blocks() -> None:
    (queries, labels), (bank, bank_labels) = blobs(2500, seed=1), blobs(60)
    hits = knn_hits(queries, labels, bank, bank_labels, (5,))['knn5_top1']
    alone = knn_hits(queries[-3:], labels[-3:], bank, bank_labels, (5,))['knn5_top1']
    assert hits.shape == (2500,)
    assert hits[-3:].tolist() == alone.tolist()


@pytest.mark.parametrize(
    ('change', 'message'),
    [
        (dict(query_labels=torch.tensor([0])), 'query labels must be one class per image: 2 features'),
        (dict(bank_labels=torch.tensor([0, -1, 1])), 'bank labels must be int64 .* minimum -1'),
        (dict(bank_labels=torch.tensor([0.0, 1.0, 1.0])), 'bank labels must be int64 .* not torch.float32'),
        (dict(bank=torch.eye(3)[:0], bank_labels=torch.tensor([], dtype=torch.int64)), 'bank features are empty'),
        (dict(queries=torch.eye(2)), 'query features have 2 dimensions and bank features 3'),
        (dict(bank=torch.eye(3) / 0), 'bank features contain NaN'),
        (dict(neighbours=()), 'neighbours must be one or more integers'),
        (dict(neighbours=(10, 0)), r'neighbours must be .* not \(10, 0\)'),
        (dict(neighbours=(2.5,)), r'neighbours must be .* not \(2.5,\)'),
        (dict(temperature=0.0), 'temperature must be above 0, not 0.0'),
    ],
)
def test_refuses(change: dict, message: str) -> None:
    arguments = dict(
        queries=torch.eye(3)[:2], query_labels=torch.tensor([0, 1]), bank=torch.eye(3), bank_labels=torch.arange(3)
    )
    with pytest.raises(UserError, match=message):
        knn_accuracy(**{**arguments, **change})
