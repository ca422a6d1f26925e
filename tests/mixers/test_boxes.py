"""The vectors TV-BOX are worked examples of CutMix's box."""

import pytest
import torch

from mixcl.mixers.boxes import box_sides, boxes_around, centres_anywhere, centres_inside


def box_of(own_share: float, centre: tuple[int, int], size: tuple[int, int]) -> tuple[list, list, float]:
    sides = box_sides(torch.tensor([own_share]), size)
    boxes = boxes_around(torch.tensor([centre]), sides, size)
    return boxes.start[0].tolist(), boxes.stop[0].tolist(), boxes.share_outside(size).item()


@pytest.mark.parametrize(
    ('own_share', 'centre', 'size', 'start', 'stop', 'share'),
    [
        (0.7, (112, 112), (224, 224), [51, 51], [173, 173], 0.703364),
        (0.7, (112, 0), (224, 224), [51, 0], [173, 61], 0.851682),
        (0.7, (0, 0), (224, 224), [0, 0], [61, 61], 0.925841),
        (0.5, (16, 16), (32, 32), [5, 5], [27, 27], 0.527344),
    ],
)
def test_clipped_boxes(own_share, centre, size, start, stop, share):
    """TV-BOX."""
    assert box_of(own_share, centre, size) == (start, stop, pytest.approx(share, abs=1e-6))


def test_centres_reach_every_place_and_no_further():
    positions = torch.rand(4000, 2, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    extreme = torch.tensor([[0.0, 0.0], [1 - 2**-53, 1 - 2**-53]], dtype=torch.float64)
    positions = torch.cat([positions, extreme])
    anywhere = centres_anywhere(positions, (7, 5))
    assert set(anywhere[:, 0].tolist()) == set(range(7)) and set(anywhere[:, 1].tolist()) == set(range(5))
    inside = centres_inside(positions, torch.tensor([[5, 2]]), (7, 5))
    assert set(inside[:, 0].tolist()) == {2, 3, 4} and set(inside[:, 1].tolist()) == {1, 2, 3}
    counts = anywhere[:, 0].bincount()
    assert (counts - 4000 / 7).abs().max() < 100
