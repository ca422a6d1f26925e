import numpy as np
import pytest
import torch
from sklearn.neighbors import NearestNeighbors

from mixcl.errors import UserError
from mixcl.evaluation.functional import neighbour_search
from mixcl.evaluation.functional.neighbour_search import nearest_neighbours

CHUNKS = [(1, 1), (7, 7), (5, 130), (1024, 32768)]


def random_features(rows: int, dimensions: int, seed: int = 0) -> torch.Tensor:
    return torch.randn(rows, dimensions, generator=torch.Generator().manual_seed(seed))


@pytest.mark.parametrize('k', [1, 20, 200])
def test_agrees_with_scikit_learn(k: int) -> None:
    queries, bank = random_features(57, 24), random_features(300, 24, seed=1)
    search = NearestNeighbors(n_neighbors=k, algorithm='brute', metric='cosine').fit(bank.double().numpy())
    distances, expected = search.kneighbors(queries.double().numpy())
    similarities, indices = nearest_neighbours(queries, bank, k, query_chunk=10, bank_chunk=64)
    np.testing.assert_array_equal(indices, expected)
    np.testing.assert_allclose(similarities, 1 - distances, atol=1e-7)
    assert similarities.dtype == torch.float32 and indices.dtype == torch.int64


@pytest.mark.parametrize('chunks', CHUNKS)
@pytest.mark.parametrize('spare', [0, 16])
def test_ties_go_to_the_lowest_index(chunks: tuple[int, int], spare: int, monkeypatch: pytest.MonkeyPatch) -> None:
    # Without spare candidates every wrong choice during the search shows.
    monkeypatch.setattr(neighbour_search, 'SPARE_CANDIDATES', spare)
    # Rows of +-1 in four dimensions: few distinct directions, so that most similarities tie, exactly.
    signs = [random_features(rows, 4, seed).sign() for seed, rows in enumerate((23, 600))]
    cosines = (signs[0].double() @ signs[1].double().T / 4).numpy()
    expected = np.argsort(-cosines, axis=1, kind='stable')[:, :40]
    similarities, indices = nearest_neighbours(*signs, 40, *chunks)
    np.testing.assert_array_equal(indices, expected)
    np.testing.assert_array_equal(similarities, np.take_along_axis(cosines, expected, axis=1).astype(np.float32))


def test_a_later_block_displaces_the_highest_of_equal_indices(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(neighbour_search, 'SPARE_CANDIDATES', 0)
    near, middle, far = [1.0, 0.0], [1.0, 1.0], [0.0, 1.0]
    bank = torch.tensor([far] * 4 + [middle] * 56 + [near] * 20 + [far] * 40)
    _, indices = nearest_neighbours(torch.tensor([near]), bank, 56, bank_chunk=60)
    assert indices.tolist() == [[*range(60, 80), *range(4, 40)]]


@pytest.mark.parametrize('copies', [2, 5])
def test_copies_of_an_image_tie_whatever_the_chunks(copies: int) -> None:
    queries, originals = random_features(500, 96), random_features(31, 96, seed=1)
    bank = originals.repeat(copies, 1)
    similarities, indices = nearest_neighbours(queries, bank, 13)
    _, nearest = nearest_neighbours(queries, originals, 13)
    copied = nearest.repeat_interleave(copies, dim=1) + 31 * torch.arange(copies).repeat(13)
    torch.testing.assert_close(indices, copied[:, :13], rtol=0, atol=0)
    for chunks in CHUNKS[1:]:
        for whole, part in zip((similarities, indices), nearest_neighbours(queries, bank, 13, *chunks), strict=True):
            torch.testing.assert_close(part, whole, rtol=0, atol=0)


def test_collapsed_features_all_tie() -> None:
    feature = random_features(1, 384)
    for chunks in CHUNKS:
        similarities, indices = nearest_neighbours(feature.repeat(3, 1) * 2, feature.repeat(200, 1), 20, *chunks)
        assert indices.tolist() == [list(range(20))] * 3
        assert (similarities == 1).all()


@pytest.mark.parametrize('spread', [1e-1, 1e-2, 3e-3, 1e-3, 3e-4])
def test_nearly_collapsed_features(spread: float) -> None:
    """Many more rows than the spare candidates share a cell of the grid of the search."""
    centre = random_features(1, 64)
    queries, bank = (centre + spread * random_features(rows, 64, rows) for rows in (40, 5000))
    exact = torch.nn.functional.normalize(queries.double()) @ torch.nn.functional.normalize(bank.double()).T
    expected, places = exact.float().sort(dim=1, descending=True, stable=True)
    for chunks in CHUNKS[2:]:
        similarities, indices = nearest_neighbours(queries, bank, 20, *chunks)
        assert torch.equal(similarities, expected[:, :20]) and torch.equal(indices, places[:, :20])


def test_near_ties_are_decided_below_the_grid_of_the_search() -> None:
    angles = torch.tensor([8e-4, 4e-4, 6e-4], dtype=torch.float64)
    bank = torch.stack([angles.cos(), angles.sin()], dim=1)
    _, indices = nearest_neighbours(torch.tensor([[1.0, 0.0]]), bank, 3)
    assert indices.tolist() == [[1, 2, 0]]


def test_k_beyond_the_bank_is_clipped() -> None:
    similarities, indices = nearest_neighbours(random_features(4, 8), random_features(5, 8, 1), 200)
    assert similarities.shape == (4, 5)
    assert indices.sort(dim=1).values.tolist() == [[0, 1, 2, 3, 4]] * 4


def test_length_does_not_matter_and_zero_has_cosine_zero() -> None:
    bank = torch.tensor([[0.0, 0.0], [-5.0, 0.0], [1e-3, 1e-3]])
    similarities, indices = nearest_neighbours(torch.tensor([[100.0, 0.0]]), bank, 3)
    assert indices.tolist() == [[2, 0, 1]]
    torch.testing.assert_close(similarities, torch.tensor([[0.5**0.5, 0.0, -1.0]]))


def test_half_precision_and_autocast_do_not_lose_precision() -> None:
    queries, bank = (random_features(20, 64) + 5).half(), (random_features(5000, 64, 1) + 5).half()
    expected = nearest_neighbours(queries.double(), bank.double(), 30)
    with torch.autocast('cpu', torch.bfloat16):
        found = nearest_neighbours(queries, bank, 30)
    for value, reference in zip(found, expected, strict=True):
        torch.testing.assert_close(value, reference, rtol=0, atol=0)


def test_the_features_are_left_alone() -> None:
    queries, bank = random_features(5, 8).requires_grad_(), random_features(9, 8, 1)
    before = queries.detach().clone(), bank.clone()
    similarities, _ = nearest_neighbours(queries, bank, 3)
    assert not similarities.requires_grad
    assert torch.equal(queries, before[0]) and torch.equal(bank, before[1])


@pytest.mark.parametrize(
    ('queries', 'bank', 'k', 'message'),
    [
        (torch.ones(2, 3), torch.ones(2, 4), 1, 'query features have 3 dimensions and bank features 4'),
        (torch.ones(2, 3), torch.ones(0, 3), 1, 'bank features are empty'),
        (torch.ones(0, 3), torch.ones(2, 3), 1, 'query features are empty'),
        (torch.ones(2, 3), torch.full((2, 3), torch.nan), 1, 'bank features contain NaN'),
        (torch.full((2, 3), -torch.inf), torch.ones(2, 3), 1, 'query features contain NaN or infinity'),
        (torch.ones(2, 3), torch.ones(3), 1, r'bank features must be a floating-point matrix .*\(3,\)'),
        (torch.ones(2, 3), torch.ones(2, 3), 0, 'at least 1, not 0'),
    ],
)
def test_refuses(queries: torch.Tensor, bank: torch.Tensor, k: int, message: str) -> None:
    with pytest.raises(UserError, match=message):
        nearest_neighbours(queries, bank, k)


@pytest.mark.parametrize('order', ['ascending', 'descending', 'shuffled'])
def test_rows_in_which_more_is_better_than_can_be_kept(order: str) -> None:
    # Ascending, every block displaces all that was kept; half of the values tie.
    cosines = torch.linspace(-1, 1, 200).repeat_interleave(2)
    shuffled = cosines[torch.randperm(400, generator=torch.Generator().manual_seed(0))]
    cosines = dict(ascending=cosines, descending=cosines.flip(0), shuffled=shuffled)[order].double()
    bank = torch.stack([cosines, (1 - cosines.square()).clamp_min(0).sqrt()], dim=1)
    expected = np.argsort(-cosines.float().numpy(), kind='stable')[:30]
    queries = torch.tensor([[1.0, 0.0], [2.0, 0.0], [-1.0, 0.0]], dtype=torch.float64)
    _, indices = nearest_neighbours(queries, bank, 30, bank_chunk=100)
    assert indices[:2].tolist() == [expected.tolist()] * 2
    assert indices[2].tolist() == np.argsort(cosines.float().numpy(), kind='stable')[:30].tolist()


@pytest.mark.parametrize('shape', [(1, 1), (3, 7), (8, 8), (5, 333), (16, 1024), (2, 0)])
@pytest.mark.parametrize('share', [0.0, 0.01, 1.0])
def test_the_places_of_few_true_values(shape: tuple[int, int], share: float) -> None:
    mask = torch.rand(shape, generator=torch.Generator().manual_seed(0)) < share
    for found, expected in zip(neighbour_search._sparse_nonzero(mask), mask.nonzero(as_tuple=True), strict=True):
        assert torch.equal(found, expected)
