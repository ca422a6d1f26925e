"""The vectors TV-RESIZE are worked examples of SDMP's box."""

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.nn import functional

from mixcl.errors import UserError
from mixcl.mixers import OriginalResizeMix, PairPlan, ResizeMix
from mixcl.mixers.pairings import flip

SHAPE = dict(height=st.integers(2, 24), width=st.integers(2, 24), batch=st.integers(2, 5), seed=st.integers(0, 10_000))


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
def test_box_inside_the_image(drawn, side, code_share, exact_share):
    """TV-RESIZE; only an odd side tells the two settings apart."""
    images = torch.zeros(2, 1, 224, 224)
    images[1] = 1
    plan = PairPlan(*flip(2), torch.full((2,), drawn))
    for box_share, expected in (('exact', exact_share), ('code', code_share)):
        mixed, composition = ResizeMix(box_share=box_share).place(images, plan)
        assert composition.weights[:, 0].tolist() == pytest.approx([expected] * 2, abs=1e-6)
        assert mixed[0].sum().item() == (side // 2 * 2) ** 2
    assert ((1 - mixed[1]).amax(2).sum(), (1 - mixed[1]).amax(1).sum()) == (side // 2 * 2, side // 2 * 2)


@settings(max_examples=60, deadline=None)
@given(**SHAPE)
def test_agrees_with_a_loop_over_images(height, width, batch, seed):
    images = torch.randn(batch, 3, height, width, dtype=torch.float64)
    mixer = ResizeMix('derangement')
    rng = torch.Generator().manual_seed(seed)
    plan = mixer.plan(batch, rng)
    state = rng.get_state()
    mixed, composition = mixer.place(images, plan, rng)
    rng.set_state(state)
    drawn = torch.rand(batch, 2, generator=rng, dtype=torch.float64).tolist()
    for row, share in enumerate(plan.share.tolist()):
        ratio = math.sqrt(1 - (0.8 * share + 0.1))
        half_height, half_width = math.floor(height * ratio) // 2, math.floor(width * ratio) // 2
        top = math.floor(drawn[row][0] * (height - 2 * half_height))
        left = math.floor(drawn[row][1] * (width - 2 * half_width))
        expected, partner = images[row].clone(), images[plan.partner[row], None]
        if half_height and half_width:
            box = (2 * half_height, 2 * half_width)
            small = functional.interpolate(partner, box, mode='bilinear', align_corners=False, antialias=False)
            expected[:, top : top + box[0], left : left + box[1]] = small[0]
        torch.testing.assert_close(mixed[row], expected)
        own_share = 1 - 4 * half_height * half_width / (height * width)
        assert composition.weights[row, 0].item() == pytest.approx(own_share, abs=1e-6)


@settings(max_examples=60, deadline=None)
@given(**SHAPE)
def test_original_agrees_with_a_loop_over_images(height, width, batch, seed):
    images = torch.randn(batch, 3, height, width)
    mixer = OriginalResizeMix('derangement')
    rng = torch.Generator().manual_seed(seed)
    mixed, composition = mixer(images, rng)
    rng.manual_seed(seed)
    partner = mixer.pairing(batch, rng)[1]
    scales = mixer.share.sample(batch, rng).tolist()
    drawn = torch.rand(batch, 2, generator=rng, dtype=torch.float64).tolist()
    for row, scale in enumerate(scales):
        half_height, half_width = math.floor(height * scale) // 2, math.floor(width * scale) // 2
        y, x = math.floor(drawn[row][0] * height), math.floor(drawn[row][1] * width)
        top, bottom = max(y - half_height, 0), min(y + half_height, height)
        left, right = max(x - half_width, 0), min(x + half_width, width)
        expected = images[row].clone()
        for i in range(top, bottom):
            for j in range(left, right):
                from_y, from_x = (i - top) * height // (bottom - top), (j - left) * width // (right - left)
                expected[:, i, j] = images[partner[row], :, from_y, from_x]
        assert torch.equal(mixed[row], expected)
        own_share = 1 - (bottom - top) * (right - left) / (height * width)
        assert composition.weights[row, 0].item() == pytest.approx(own_share, abs=1e-6)


def test_original_scale_is_the_side_ratio():
    images = torch.zeros(64, 1, 40, 20)
    mixer = OriginalResizeMix(scale=dict(type='Uniform', low=0.5, high=0.5))
    plan = mixer.plan(64)
    assert torch.equal(plan.share, torch.full((64,), 0.75, dtype=torch.float64))
    _, composition = mixer.place(images, plan)
    assert composition.weights[:, 1].max().item() == 0.25, 'a box that is not clipped'
    drawn = 1 - OriginalResizeMix().plan(4000, torch.Generator().manual_seed(0)).share
    assert 0.1 <= drawn.min().sqrt() < 0.11 and 0.79 < drawn.max().sqrt() <= 0.8


def test_an_unknown_box_share_is_refused():
    with pytest.raises(UserError, match="box_share must be 'exact' or 'code', not 'area'"):
        ResizeMix(box_share='area')
