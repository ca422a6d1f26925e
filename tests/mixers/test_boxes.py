"""The mixers that paste boxes, against worked examples and loops over images."""

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor
from torch.nn import functional

from mixcl.mixers import CutMix, OriginalResizeMix, PairMixer, PairPlan, ResizeMix
from mixcl.mixers.boxes import box_sides, boxes_around, centres_anywhere, centres_inside
from mixcl.mixers.pairings import flip


@pytest.mark.parametrize(
    ('own_share', 'centre', 'size', 'start', 'stop', 'share'),
    [
        (0.7, (112, 112), (224, 224), [51, 51], [173, 173], 0.703364),
        (0.7, (112, 0), (224, 224), [51, 0], [173, 61], 0.851682),
        (0.7, (0, 0), (224, 224), [0, 0], [61, 61], 0.925841),
        (0.5, (16, 16), (32, 32), [5, 5], [27, 27], 0.527344),
    ],
)
def test_clipped_boxes(own_share: float, centre: tuple, size: tuple, start: list, stop: list, share: float) -> None:
    """TV-BOX."""
    boxes = boxes_around(torch.tensor([centre]), box_sides(torch.tensor([own_share]), size), size)
    assert (boxes.start[0].tolist(), boxes.stop[0].tolist()) == (start, stop)
    assert boxes.share_outside(size).item() == pytest.approx(share, abs=1e-6)


@pytest.mark.parametrize(
    ('drawn', 'side', 'code_share', 'exact_share'),
    [
        (0.0, 212, 0.104273, 0.104273),
        (0.25, 187, 0.303073, 0.310507),
        (0.5, 158, 0.502471, 0.502471),
        (0.75, 122, 0.703364, 0.703364),
        (1.0, 70, 0.902344, 0.902344),
    ],
)
def test_boxes_inside_the_image(drawn: float, side: int, code_share: float, exact_share: float) -> None:
    """TV-RESIZE; only an odd side tells the two settings apart."""
    images = torch.zeros(2, 1, 224, 224)
    images[1] = 1
    plan = PairPlan(*flip(2), torch.full((2,), drawn))
    for box_share, expected in (('exact', exact_share), ('code', code_share)):
        mixed, composition = ResizeMix(box_share=box_share).place(images, plan)
        assert composition.weights[:, 0].tolist() == pytest.approx([expected] * 2, abs=1e-6)
        assert mixed[0].sum().item() == (side // 2 * 2) ** 2
    assert ((1 - mixed[1]).amax(2).sum(), (1 - mixed[1]).amax(1).sum()) == (side // 2 * 2, side // 2 * 2)


def test_centres_reach_the_ends_and_no_further() -> None:
    ends = torch.tensor([[0.0, 0.0], [1 - 2**-53, 1 - 2**-53]], dtype=torch.float64)
    assert centres_anywhere(ends, (7, 5)).tolist() == [[0, 0], [6, 4]]
    assert centres_inside(ends, torch.tensor([[5, 2]]), (7, 5)).tolist() == [[2, 1], [4, 3]]


def edges(kind: type[PairMixer], share: float, position: float, length: int) -> tuple[int, int]:
    """Return where the box starts and stops along one axis, by the papers' formulas."""
    if kind is ResizeMix:
        half = math.floor(length * math.sqrt(1 - (0.8 * share + 0.1))) // 2
        start = math.floor(position * (length - 2 * half))
        return start, start + 2 * half
    half, centre = math.floor(length * math.sqrt(1 - share)) // 2, math.floor(position * length)
    return max(centre - half, 0), min(centre + half, length)


def shown(kind: type[PairMixer], partner: Tensor, rows: range, columns: range) -> Tensor:
    """Return what a box shows of the partner (3, H, W)."""
    if kind is CutMix:
        return partner[:, rows][:, :, columns]
    if kind is ResizeMix:
        size = (len(rows), len(columns))
        return functional.interpolate(partner[None], size, mode='bilinear', align_corners=False, antialias=False)[0]
    nearest = [
        [pixel * length // len(box) for pixel in range(len(box))]
        for length, box in zip(partner.shape[1:], (rows, columns), strict=True)
    ]
    return partner[:, nearest[0]][:, :, nearest[1]]


@pytest.mark.parametrize('kind', [CutMix, ResizeMix, OriginalResizeMix])
@settings(max_examples=60, deadline=None)
@given(
    height=st.integers(1, 24),
    width=st.integers(1, 24),
    batch=st.integers(2, 5),
    seed=st.integers(0, 10_000),
    per_sample=st.booleans(),
)
def test_agrees_with_a_loop_over_images(kind, height, width, batch, seed, per_sample):
    images = torch.randn(batch, 3, height, width, dtype=torch.float64)
    mixer, random = kind('derangement', per_sample=per_sample), torch.Generator().manual_seed(seed)
    plan = mixer.plan(batch, random)
    state = random.get_state()
    mixed, composition = mixer.place(images, plan, random)
    random.set_state(state)
    drawn = torch.rand(batch if per_sample else 1, 2, generator=random, dtype=torch.float64).expand(batch, 2)
    for row, (share, (y, x)) in enumerate(zip(plan.share.tolist(), drawn.tolist(), strict=True)):
        rows, columns = range(*edges(kind, share, y, height)), range(*edges(kind, share, x, width))
        expected = images[row].clone()
        if len(rows) * len(columns):
            box = (slice(None), slice(rows.start, rows.stop), slice(columns.start, columns.stop))
            expected[box] = shown(kind, images[plan.partner[row]], rows, columns)
        torch.testing.assert_close(mixed[row], expected)
        own_share = 1 - len(rows) * len(columns) / (height * width)
        assert composition.weights[row, 0].item() == pytest.approx(own_share, abs=1e-6)


def test_original_scale_is_the_side_ratio() -> None:
    fixed = OriginalResizeMix(scale=dict(type='Uniform', low=0.5, high=0.5)).plan(64)
    assert torch.equal(fixed.share, torch.full((64,), 0.75, dtype=torch.float64))
    drawn = 1 - OriginalResizeMix().plan(4000, torch.Generator().manual_seed(0)).share
    assert 0.1 <= drawn.min().sqrt() < 0.11 and 0.79 < drawn.max().sqrt() <= 0.8
