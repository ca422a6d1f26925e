"""Compositions and targets agree with loops over sets."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from losses.brute_force import overlaps_of

from mixcl.composition import Composition


@st.composite
def compositions(draw, num_images: int) -> Composition:
    rows, listed = draw(st.integers(1, 7)), draw(st.integers(1, 4))
    entries = st.lists(st.integers(0, num_images - 1), min_size=rows * listed, max_size=rows * listed)
    shares = st.lists(st.floats(0.05, 1), min_size=rows * listed, max_size=rows * listed)
    weights = torch.tensor(draw(shares), dtype=torch.float64).view(rows, listed)
    return Composition(torch.tensor(draw(entries)).view(rows, listed), weights / weights.sum(1, keepdim=True))


@settings(max_examples=200, deadline=None)
@given(st.data())
def test_overlap_and_target_agree_with_set_intersection(data):
    num_images = data.draw(st.integers(1, 8))
    a, b = data.draw(compositions(num_images)), data.draw(compositions(num_images))
    expected = torch.from_numpy(overlaps_of(a, b)[0])
    torch.testing.assert_close(a.overlap(b), expected)
    target = a.target(b)
    total = expected.sum(1, keepdim=True)
    torch.testing.assert_close(target.dense(len(b)), torch.where(total > 0, expected / total, 0.0))
    assert target.valid.tolist() == (total[:, 0] > 0).tolist()


def test_crops_stacked_as_one_stream_share_the_target():
    views, crops = Composition.identity(3), Composition.cat([Composition.identity(3)] * 2)
    assert crops.reach == 2
    assert torch.equal(crops.target(views).dense(3), torch.eye(3).repeat(2, 1))
    assert torch.equal(views.target(crops).dense(6), torch.eye(3).repeat(1, 2) / 2)


def test_pick_equals_the_dense_product():
    a = Composition(torch.tensor([[0, 1], [1, 2], [2, 0]]), torch.tensor([[0.7, 0.3], [0.5, 0.5], [0.9, 0.1]]))
    table = torch.randn(3, 5)
    target = a.target(a, start=2)
    torch.testing.assert_close(target.pick(table), (target.dense(5) * table).sum(1))
    never = torch.full((3, 3), -torch.inf).fill_diagonal_(2.0)  # -inf times zero would be NaN
    views = Composition.identity(3)
    assert views.target(views).pick(never).tolist() == [2.0, 2.0, 2.0]


@pytest.mark.parametrize(
    ('sources', 'weights'),
    [
        (torch.zeros(3, 2, dtype=torch.int64), torch.ones(3, 1)),
        (torch.zeros(3, dtype=torch.int64), torch.ones(3)),
        (torch.zeros(3, 1, dtype=torch.int32), torch.ones(3, 1)),
        (torch.zeros(3, 1, dtype=torch.int64), torch.ones(3, 1, dtype=torch.int64)),
    ],
)
def test_malformed_compositions_are_refused(sources, weights):
    with pytest.raises(ValueError, match='a composition needs'):
        Composition(sources, weights)
