import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from mixcl.mixers import CutMix


@settings(max_examples=60, deadline=None)
@given(
    height=st.integers(1, 20),
    width=st.integers(1, 20),
    batch=st.integers(2, 6),
    seed=st.integers(0, 10_000),
    per_sample=st.booleans(),
)
def test_agrees_with_a_loop_over_images(height, width, batch, seed, per_sample):
    images = torch.randn(batch, 3, height, width)
    mixer = CutMix('derangement', per_sample=per_sample)
    rng = torch.Generator().manual_seed(seed)
    plan = mixer.plan(batch, rng)
    state = rng.get_state()
    mixed, composition = mixer.place(images, plan, rng)
    rng.set_state(state)
    drawn = torch.rand(batch if per_sample else 1, 2, generator=rng, dtype=torch.float64).expand(batch, 2).tolist()
    for row, share in enumerate(plan.share.tolist()):
        half_height = math.floor(height * math.sqrt(1 - share)) // 2
        half_width = math.floor(width * math.sqrt(1 - share)) // 2
        y, x = math.floor(drawn[row][0] * height), math.floor(drawn[row][1] * width)
        rows = slice(max(y - half_height, 0), min(y + half_height, height))
        columns = slice(max(x - half_width, 0), min(x + half_width, width))
        expected = images[row].clone()
        expected[:, rows, columns] = images[plan.partner[row], :, rows, columns]
        assert torch.equal(mixed[row], expected)
        area = (rows.stop - rows.start) * (columns.stop - columns.start)
        assert composition.weights[row, 0].item() == pytest.approx(1 - area / (height * width), abs=1e-6)
