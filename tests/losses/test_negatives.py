"""Sources of negatives: rows of a stream, a queue, hard mixtures."""

import pytest
import torch
from losses.brute_force import COMPOSITIONS, mixtures, vectors
from torch import Tensor

from mixcl.composition import Composition
from mixcl.losses import HardMix, Keys, NegativesContext, Queue, Rows

WIDTH, BATCH = 6, 9


def context(
    composition: Composition,
    queries: Tensor,
    keys: Tensor,
    others: Composition | None = None,
    start: int = 0,
    seed: int = 0,
) -> NegativesContext:
    """Return the context of a row from ``composition`` to views; 'others' has this process's rows from ``start`` on."""
    views = Composition.identity(len(keys))
    streams = dict(others=Keys(keys, others or views, start))
    random = torch.Generator().manual_seed(seed)
    return NegativesContext(queries, composition, keys, composition.target(views), streams, random)


@pytest.mark.parametrize('other', COMPOSITIONS)
@pytest.mark.parametrize('query', COMPOSITIONS)
@pytest.mark.parametrize('start', [0, 4])
def test_rows_leave_out_those_that_an_image_of_the_query_owns(query: str, other: str, start: int) -> None:
    """Rows of an image that the query lists with share 0 are left out, too. Mixtures that merely show an image stay,
    as do rows of other processes."""
    composition, others = COMPOSITIONS[query](), COMPOSITIONS[other]()
    keys = vectors(start + len(others), WIDTH)
    found = Rows('others')(context(composition, vectors(len(composition), WIDTH), keys, others=others, start=start))
    assert found.vectors is keys
    expected = [[owner not in listed for owner in others.sources[:, 0]] for listed in composition.sources]
    assert found.keep.tolist() == [[True] * start + row for row in expected]


def numbered(first: int, count: int) -> Tensor:
    return torch.arange(first, first + count)[:, None].expand(-1, WIDTH).float()


def test_a_queue_is_first_in_first_out_and_wraps_around() -> None:
    queue = Queue(size=7, channels=WIDTH, fed_by='view2')
    torch.testing.assert_close(queue.vectors.norm(dim=1), torch.ones(7))
    remembered: list[int] = []
    for first in range(0, 24, 3):  # 7 is no multiple of 3
        queue.push(numbered(first, 3))
        remembered = (remembered + list(range(first, first + 3)))[-7:]
        if first >= 6:
            assert sorted(queue.vectors[:, 0].int().tolist()) == remembered
    oldest_first = queue.vectors.roll(-int(queue.position), dims=0)[:, 0].int().tolist()
    assert oldest_first == remembered
    assert queue.state_dict().keys() == {'vectors', 'position'}, 'a resumed run goes on with them'


def test_what_a_step_read_does_not_change_when_the_queue_moves_on() -> None:
    queue, keys = Queue(size=4, channels=WIDTH, fed_by='view2'), vectors(2, WIDTH).float()
    found = queue(context(Composition.identity(2), keys, keys))
    before = found.vectors.clone()
    queue.push(numbered(0, 4))
    assert torch.equal(found.vectors, before) and found.keep is None


# ----- hard mixtures -----


def hard_mixtures(composition: Composition, seed: int = 0, **settings: int) -> tuple[Tensor, NegativesContext]:
    case = context(composition, vectors(len(composition), WIDTH, seed=1), vectors(BATCH, WIDTH, seed=2), seed=seed)
    return HardMix(**settings)(case).vectors, case


def hardest(case: NegativesContext, row: int, count: int) -> Tensor:
    """Return the keys of images that are not in the query, nearest first."""
    outside = torch.tensor([image for image in range(BATCH) if image not in case.composition.sources[row].tolist()])
    nearest = (case.keys[outside] @ case.queries[row]).argsort(descending=True)
    return case.keys[outside[nearest[:count]]]


def in_cone(point: Tensor, one: Tensor, other: Tensor) -> tuple[float, float] | None:
    """Return the coefficients of a point as a combination of two corners, or None if it is none."""
    basis = torch.stack([one, other], dim=1)
    solution = torch.linalg.lstsq(basis, point[:, None]).solution
    return tuple(solution[:, 0].tolist()) if torch.allclose(basis @ solution, point[:, None], atol=1e-6) else None


@pytest.mark.parametrize('composition', [Composition.identity(BATCH), mixtures(BATCH)], ids=['views', 'pairs'])
def test_points_combine_the_hardest_negatives_and_less_than_half_of_the_query(composition: Composition) -> None:
    points, case = hard_mixtures(composition, hardest=3, mixed=8, mixed_with_query=6)
    assert points.shape == (BATCH, 14, WIDTH)
    torch.testing.assert_close(points.norm(dim=2), torch.ones(BATCH, 14, dtype=torch.float64))
    for row, query in enumerate(case.queries):
        corners = hardest(case, row, 3)
        for point in points[row, :8]:
            pairs = [in_cone(point, corners[i], corners[j]) for i, j in ((0, 1), (0, 2), (1, 2))]
            assert any(found is not None and min(found) > -1e-6 for found in pairs)
        for point in points[row, 8:]:
            found = [in_cone(point, query, corner) for corner in corners]
            own, other = next(coefficients for coefficients in found if coefficients is not None)
            assert 0 <= own < other


def test_points_are_a_function_of_the_step_and_carry_no_gradient() -> None:
    settings = dict(hardest=4, mixed=3, mixed_with_query=2)
    first, _ = hard_mixtures(mixtures(BATCH), **settings)
    assert torch.equal(first, hard_mixtures(mixtures(BATCH), **settings)[0])
    assert not torch.equal(first, hard_mixtures(mixtures(BATCH), seed=1, **settings)[0])
    queries = vectors(BATCH, WIDTH).requires_grad_()
    assert not HardMix(**settings)(context(Composition.identity(BATCH), queries, queries)).vectors.requires_grad


def test_a_row_that_shares_an_image_with_every_key_gets_none_and_others_keep_theirs() -> None:
    sources = torch.tensor([[0, 1, 2], [0, 1, 1]])
    composition = Composition(sources, torch.full((2, 3), 1 / 3), reach=2)
    keys = vectors(3, WIDTH)
    found = HardMix(hardest=2, mixed=3, mixed_with_query=1)(context(composition, keys[:2], keys))
    assert found.keep.tolist() == [[False] * 4, [True] * 4]
    torch.testing.assert_close(found.vectors[1, :3], keys[2].expand(3, -1))  # the only negative there is
