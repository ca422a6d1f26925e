"""Stitch beside a loop over the cells of a grid."""

import torch
from torch.nn import functional

from mixcl.composition import Composition
from mixcl.mixers import Stitch


def test_every_cell_shows_a_whole_image_reduced() -> None:
    for side, batch, height, width in ((2, 4, 8, 12), (2, 7, 6, 6), (3, 9, 9, 12)):
        images = torch.rand(batch, 3, height, width, dtype=torch.float64)
        mixed, made = Stitch(side)(images, torch.Generator().manual_seed(1))
        small = functional.interpolate(images, (height // side, width // side), mode='area')
        assert mixed.shape == images.shape and made.sources.shape == (batch, side * side)
        for i in range(batch):
            assert made.owner[i] == i and len(set(made.sources[i].tolist())) == side * side
            assert sorted(made.shown[i].flatten().tolist()) == list(range(side * side))
            for row in range(side):
                for column in range(side):
                    source = made.sources[i, made.shown[i, row, column]]
                    high, wide = height // side, width // side
                    cell = mixed[i, :, row * high : (row + 1) * high, column * wide : (column + 1) * wide]
                    torch.testing.assert_close(cell, small[source])
        assert torch.equal(made.weights, torch.full((batch, side * side), 1 / side**2))


def test_every_image_is_in_as_many_mixtures_and_targets_follow() -> None:
    _, made = Stitch(2)(torch.zeros(6, 1, 4, 4), torch.Generator().manual_seed(0))
    assert made.sources.flatten().bincount().tolist() == [4] * 6
    counted = Composition(made.sources, made.weights)
    torch.testing.assert_close(made.target(made).dense(6), counted.target(counted).dense(6))
    # images at distance d on the circle share 4 - d of 4, or, the other way round, 4 - (6 - d)
    assert sorted(made.overlap(made)[0].tolist()) == [0.25 + 0.25, 0.5, 0.5, 0.75, 0.75, 1.0]


def test_places_differ_from_draw_to_draw_and_partners_from_step_to_step() -> None:
    images, mixer = torch.rand(5, 1, 4, 4), Stitch()
    plans = [mixer.plan(5, torch.Generator().manual_seed(seed)).sources for seed in range(9)]
    assert any(not torch.equal(plans[0], plan) for plan in plans)
    plan, random = mixer.plan(5), torch.Generator().manual_seed(0)
    places = {tuple(mixer.place(images, plan, random)[1].shown[0].flatten().tolist()) for _ in range(200)}
    assert len(places) == 24


def test_sides_that_m_does_not_divide_are_cut() -> None:
    images = torch.arange(9.0)[:, None, None, None].expand(9, 1, 8, 10)
    mixed, made = Stitch(3)(images, torch.Generator().manual_seed(0))
    assert mixed.shape == images.shape
    for row, column in ((0, 0), (7, 9)):
        assert mixed[0, 0, row, column] == made.sources[0, made.shown[0, row * 3 // 8, column * 3 // 10]]
    half = Stitch(2)(images.to(torch.bfloat16))[0]
    assert half.dtype == torch.bfloat16 and set(half.unique().tolist()) <= set(range(9))
    assert Stitch(2)(torch.zeros(4, 3, 8, 8, device='meta'))[1].shown.device.type == 'meta'
