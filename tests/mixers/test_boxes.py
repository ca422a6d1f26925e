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


def test_centres_reach_the_ends_and_no_further():
    ends = torch.tensor([[0.0, 0.0], [1 - 2**-53, 1 - 2**-53]], dtype=torch.float64)
    assert centres_anywhere(ends, (7, 5)).tolist() == [[0, 0], [6, 4]]
    assert centres_inside(ends, torch.tensor([[5, 2]]), (7, 5)).tolist() == [[2, 1], [4, 3]]
