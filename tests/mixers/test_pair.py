"""Properties that all mixers of two images share."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from mixcl.composition import Composition
from mixcl.registry import MIXERS

REGION = dict(type='RegionSwap', cell=2, cells=(1, 2, 3))
SHARING = ['Mixup', 'CutMix', 'ResizeMix', 'OriginalResizeMix']
PAIRINGS = ['flip', 'halves', 'derangement', 'permutation']
CHOICE = dict(type='Choice', mixers=[dict(type='CutMix'), dict(type='Choice', mixers=[REGION, dict(type='ResizeMix')])])
MASK = dict(type='MixMask', grid=3)
EVERY = [*(dict(type=name) for name in SHARING), REGION, MASK, CHOICE]


def seeded(seed: int) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


@settings(max_examples=200, deadline=None)
@given(
    config=st.sampled_from(EVERY),
    pairing=st.sampled_from(PAIRINGS),
    per_sample=st.booleans(),
    batch=st.integers(2, 7),
    size=st.tuples(st.integers(6, 13), st.integers(6, 13)),
    seed=st.integers(0, 10_000),
)
def test_every_mixture_is_sound(config, pairing, per_sample, batch, size, seed):
    if config['type'] != 'Choice':
        config = dict(config, pairing=pairing, **(dict(per_sample=per_sample) if config['type'] in SHARING else {}))
    mixer, images = MIXERS.build(config), torch.randn(batch, 3, *size)
    mixer.check(batch, *size)
    mixed, made = mixer(images, seeded(seed))
    rows = batch // 2 if config.get('pairing') == 'halves' else batch
    assert mixed.shape == (rows, 3, *size) and mixed.dtype == images.dtype and mixed.isfinite().all()
    assert made.sources.shape == made.weights.shape == (rows, 2) and made.weights.dtype == torch.float32
    assert made.sources.min() >= 0 and made.sources.max() < batch and made.owner.tolist() == list(range(rows))
    assert made.weights.min() >= 0
    torch.testing.assert_close(made.weights.sum(1), torch.ones(rows))
    counted = Composition(made.sources, made.weights)  # no reach: counted from the rows
    torch.testing.assert_close(made.target(made).dense(rows), counted.target(counted).dense(rows))
    again, same = mixer(images, seeded(seed))
    assert torch.equal(mixed, again) and torch.equal(made.weights, same.weights)


@pytest.mark.parametrize('name', SHARING)
def test_a_batch_may_share_lambda_and_box(name):
    images = torch.arange(5.0)[:, None, None, None].expand(5, 1, 16, 16)
    for per_sample in (False, True):
        mixer = MIXERS.build(dict(type=name, pairing='derangement', per_sample=per_sample))
        mixed, made = mixer(images, seeded(1))
        pasted = (mixed - images) / (made.sources[:, 1] - made.sources[:, 0])[:, None, None, None]
        assert (made.weights == made.weights[:1]).all() != per_sample
        assert torch.allclose(pasted, pasted[:1].expand_as(pasted), atol=1e-5) != per_sample


@pytest.mark.parametrize('config', [dict(type='ResizeMix'), REGION], ids=lambda config: config['type'])
def test_boxes_of_a_step_have_one_area_and_places_of_their_own(config):
    images, mixer = torch.arange(4.0)[:, None, None, None].expand(4, 1, 16, 16), MIXERS.build(config)
    plan = mixer.plan(4, seeded(0))
    placed = [mixer.place(images, plan, seeded(seed)) for seed in range(6)]
    assert all(torch.equal(made.weights, placed[0][1].weights) for _, made in placed)
    assert any(not torch.equal(mixed, placed[0][0]) for mixed, _ in placed)


@pytest.mark.parametrize('config', EVERY, ids=lambda config: config['type'])
@pytest.mark.parametrize('dtype', [torch.float64, torch.bfloat16])
def test_the_type_of_the_images_is_kept(config, dtype):
    images = torch.rand(5, 3, 12, 10, dtype=torch.float64)
    mixer = MIXERS.build(config)
    exact, rounded = mixer(images, seeded(2))[0], mixer(images.to(dtype), seeded(2))[0]
    assert rounded.dtype == dtype
    torch.testing.assert_close(rounded.double(), exact, atol=0.01 if dtype == torch.bfloat16 else 0, rtol=0)


@pytest.mark.parametrize('config', EVERY, ids=lambda config: config['type'])
def test_everything_follows_the_images_to_their_device(config):
    """Like CUDA, the device 'meta' refuses tensors that stayed on the CPU; it also refuses to be read from."""
    mixed, made = MIXERS.build(config)(torch.zeros(5, 3, 12, 10, device='meta'))
    assert {mixed.device.type, made.sources.device.type, made.weights.device.type} == {'meta'}
