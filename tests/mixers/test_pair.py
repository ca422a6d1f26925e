"""What all mixers of two images have in common; the vectors TV-MC-1 and TV-SD-1 are worked targets."""

import pytest
import tiny
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from mixcl.algorithms import StepKey
from mixcl.composition import Composition
from mixcl.errors import UserError
from mixcl.mixers import Mixup, PairPlan
from mixcl.mixers.pair import pair_composition
from mixcl.mixers.pairings import flip, halves
from mixcl.registry import MIXERS

REGION = dict(type='RegionSwap', cell=2, cells=(1, 2, 3))
SHARING = ['Mixup', 'CutMix', 'ResizeMix', 'OriginalResizeMix']
PAIRINGS = ['flip', 'halves', 'derangement', 'permutation']
EVERY = [*(dict(type=name) for name in SHARING), REGION, dict(type='Choice', mixers=[dict(type='CutMix'), REGION])]


def seeded(seed: int) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def composition(pairing, shares: list[float]) -> Composition:
    owner, partner = pairing
    return pair_composition(owner, partner, torch.tensor(shares), torch.device('cpu'))


def test_targets_of_half_mixtures():
    """TV-MC-1; the two columns of the queue are not the composition's matter."""
    target = composition(halves(4), [0.7, 0.2]).target(Composition.identity(4)).dense(4)
    torch.testing.assert_close(target, torch.tensor([[0.7, 0, 0.3, 0], [0, 0.2, 0, 0.8]]))


@pytest.mark.parametrize(
    ('shares', 'common'),
    [
        ([0.7, 0.6, 0.4, 0.2], [0.9, 1, 1, 0.9]),
        ([0.7, 0.7], [0.6, 0.6]),
        ([0.3, 0.7], [1, 1]),
        ([0.9, 0.2], [0.9, 0.9]),
        ([1, 0], [1, 1]),
    ],
)
def test_targets_between_mixtures(shares, common):
    """TV-SD-1: 1 / (1 + c) for the mixture itself and c / (1 + c) for its partner's."""
    mixtures = composition(flip(len(shares)), shares)
    expected = torch.diag(1 / (1 + torch.tensor(common)))
    expected += (torch.tensor(common) / (1 + torch.tensor(common))).diag().flip(1)
    torch.testing.assert_close(mixtures.target(mixtures).dense(len(shares)), expected)


def test_the_middle_of_an_odd_flipped_batch_is_itself():
    """TV-SD-1, odd: c = .6 for the outer two, one-hot in the middle."""
    mixtures = composition(flip(3), [0.8, 0.3, 0.6])
    expected = torch.tensor([[0.625, 0, 0.375], [0, 1, 0], [0.375, 0, 0.625]])
    torch.testing.assert_close(mixtures.target(mixtures).dense(3), expected)


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
        config = dict(config, pairing=pairing, **({} if config is REGION else dict(per_sample=per_sample)))
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


@pytest.mark.parametrize('name', ['CutMix', 'ResizeMix', 'OriginalResizeMix', 'RegionSwap'])
@pytest.mark.parametrize('pairing', PAIRINGS)
def test_shares_of_box_mixers_are_the_shares_of_the_pixels(name, pairing):
    """Images of one colour each: count the pixels that show each of the two."""
    mixer = MIXERS.build(dict(REGION, pairing=pairing) if name == 'RegionSwap' else dict(type=name, pairing=pairing))
    images = torch.arange(6.0)[:, None, None, None].expand(6, 3, 11, 9)
    for seed in range(30):
        mixed, made = mixer(images, seeded(seed))
        partner = made.sources[:, 1, None, None, None]
        shown = (mixed.round(decimals=3) == partner).float().mean((1, 2, 3))
        expected = torch.where(made.sources[:, 0] == made.sources[:, 1], 1.0, made.weights[:, 1])
        torch.testing.assert_close(shown, expected)


@pytest.mark.parametrize('name', SHARING)
def test_a_batch_may_share_lambda_and_box(name):
    images = torch.arange(5.0)[:, None, None, None].expand(5, 1, 16, 16)
    for per_sample in (False, True):
        mixer = MIXERS.build(dict(type=name, pairing='derangement', per_sample=per_sample))
        mixed, made = mixer(images, seeded(1))
        pasted = (mixed - images) / (made.sources[:, 1] - made.sources[:, 0])[:, None, None, None]
        assert (made.weights == made.weights[:1]).all() != per_sample
        assert torch.allclose(pasted, pasted[:1].expand_as(pasted), atol=1e-5) != per_sample


def test_views_of_a_step_share_partners_and_shares():
    crops = [torch.randn(5, 3, 8, 8), torch.randn(5, 3, 8, 8)]
    recipe = tiny.build(mixer=dict(type='Mixup', pairing='derangement')).recipe
    streams = recipe.build(crops, {'mix1', 'mix2'}, StepKey(0, 0, 0))
    first, second = streams['mix1'].composition, streams['mix2'].composition
    assert torch.equal(first.sources, second.sources) and torch.equal(first.weights, second.weights)


def test_views_of_a_step_have_boxes_of_their_own():
    images = torch.arange(4.0)[:, None, None, None].expand(4, 1, 16, 16)
    mixer = MIXERS.build(dict(type='ResizeMix'))
    plan = PairPlan(*flip(4), torch.full((4,), 0.5))
    (first, made), (second, other) = (mixer.place(images, plan, seeded(seed)) for seed in (0, 1))
    assert torch.equal(made.weights, other.weights), 'a box inside the image has one area wherever it lies'
    assert not torch.equal(first, second)


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
    """The device 'meta' refuses, as CUDA does, to compute with what stayed on the CPU, and to be read from."""
    mixed, made = MIXERS.build(config)(torch.zeros(5, 3, 12, 10, device='meta'))
    assert {mixed.device.type, made.sources.device.type, made.weights.device.type} == {'meta'}


@pytest.mark.parametrize('config', EVERY, ids=lambda config: config['type'])
@pytest.mark.parametrize('pairing', PAIRINGS)
def test_a_learner_trains_a_step(config, pairing):
    config = config if config['type'] == 'Choice' else dict(config, pairing=pairing)
    model = tiny.build(mixer=config)
    model.check_batch([torch.zeros(3, 8, 8)] * 2, 5)
    losses = model([torch.randn(5, 3, 8, 8), torch.randn(5, 3, 8, 8)], mode='loss')
    sum(value for name, value in losses.items() if 'loss' in name).backward()
    gradients = [p.grad for p in model.parameters() if p.requires_grad]
    assert all(gradient.isfinite().all() and gradient.abs().sum() > 0 for gradient in gradients)


@pytest.mark.parametrize('config', EVERY, ids=lambda config: config['type'])
def test_a_batch_of_one_is_refused(config):
    with pytest.raises(UserError, match='batches of 1 image; raise train_dataloader'):
        MIXERS.build(config).check(1, 16, 16)


def test_an_unknown_pairing_is_refused():
    with pytest.raises(UserError, match="pairing='neighbours' is unknown"):
        Mixup(pairing='neighbours')
