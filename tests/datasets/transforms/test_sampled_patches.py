"""Which patches are drawn: worked examples, frequencies of draws, flips, wrong settings."""

import itertools

import mmcv
import numpy as np
import pytest
import torch
from mmpretrain.datasets import RandomResizedCrop

from mixcl.datasets import RecordedResizedCrop, SampledPatchPair, SampleKey
from mixcl.datasets.transforms.sampled_patches import ViewGeometry, draw_cells, overlap_ratios, selection_probabilities
from mixcl.errors import UserError

DIAGONAL = [0, 5, 10, 15]
CROP = dict(type='RecordedResizedCrop', scale=16, crop_ratio_range=(0.15, 1.0), backend='pillow')
FLIP = dict(type='RandomFlip', prob=0.5)


@pytest.mark.parametrize(
    ('selected', 'box1', 'box2', 'side', 'expected', 'drawn'),
    [  # shifted crops, one inside the other, the reverse, apart by whole patches, flipped, four patches
        (DIAGONAL, (0, 0, 16, 16), (2, 2, 16, 16), 4,
         {**dict.fromkeys((0, 5, 10), 1 / 2), **dict.fromkeys((1, 4, 6, 9, 11, 14, 15), 1 / 4)},
         {0: 0.013400, 1: 0.045226, 2: 0.107203}),
        (DIAGONAL, (0, 0, 16, 16), (4, 4, 8, 8), 4, dict.fromkeys((0, 1, 4, 5, 10, 11, 14, 15), 1), {0: 0, 2: 1 / 8}),
        (DIAGONAL, (4, 4, 8, 8), (0, 0, 16, 16), 4, dict.fromkeys((5, 10), 1 / 2), {5: 0.008772, 0: 0.070175}),
        ([3, 6, 10, 15], (0, 0, 16, 16), (4, 8, 16, 16), 4, dict.fromkeys((0, 4, 9), 1), {0: 0, 1: 1 / 13}),
        (DIAGONAL, (3, 5, 16, 16, True), (3, 5, 16, 16, True), 4, dict.fromkeys(DIAGONAL, 1), {0: 0, 1: 1 / 12}),
        (DIAGONAL, (3, 5, 16, 16), (3, 5, 16, 16, True), 4, dict.fromkeys((3, 6, 9, 12), 1), {3: 0, 0: 1 / 12}),
        ([0], (0, 0, 8, 8), (2, 2, 8, 8), 2, {0: 1 / 4}, {0: 0.123288, 1: 0.292237, 2: 0.292237, 3: 0.292237}),
    ],
)  # fmt: skip
def test_overlap_ratios(selected: list[int], box1: tuple, box2: tuple, side: int, expected: dict, drawn: dict) -> None:
    r = overlap_ratios(np.array(selected), ViewGeometry(*box1), ViewGeometry(*box2), (side, side))
    np.testing.assert_allclose(r, [expected.get(cell, 0) for cell in range(side * side)], atol=1e-15)
    probabilities = selection_probabilities(r, 3)
    np.testing.assert_allclose(probabilities[list(drawn)], list(drawn.values()), atol=5e-7)
    np.testing.assert_allclose(probabilities.sum(), 1.0)


def test_draws_without_replacement_have_the_frequencies_of_successive_draws() -> None:
    p = selection_probabilities(np.array([0.25, 0.0, 0.6, 0.0, 0.9]), 3)
    np.random.seed(0)
    drawn = draw_cells(np.tile(p, (100_000, 1)), 2)
    assert (drawn[:, 0] != drawn[:, 1]).all()
    for first, second in itertools.permutations(range(5), 2):
        expected = p[first] * p[second] / (1 - p[first])
        frequency = ((drawn[:, 0] == first) & (drawn[:, 1] == second)).mean()
        assert frequency == pytest.approx(expected, abs=5 * (expected / 100_000) ** 0.5 + 1e-9)


def test_covered_cells_come_last() -> None:
    np.random.seed(0)
    p = selection_probabilities(np.tile([1.0, 0.99, 1.0, 0.0], (1000, 1)), 3)
    drawn = draw_cells(p, 3)
    assert set(drawn[:, :2].flatten().tolist()) == {1, 3}
    assert {0, 2} == set(drawn[:, 2].tolist()), 'which of them is a matter of chance'
    assert (draw_cells(np.zeros((50, 4)), 4).sum(axis=1) == 6).all()
    np.testing.assert_allclose(selection_probabilities(np.array([1.0, 0.3, 0.0, 1.0]), 0), [0.25] * 4)


def pair(crop: dict = CROP, **settings: object) -> SampledPatchPair:
    return SampledPatchPair(**{**dict(transforms=[[crop, FLIP], [crop, FLIP]], patch_size=2), **settings})


def sample(transform: SampledPatchPair, index: int = 0) -> dict:
    image = np.random.default_rng(index).integers(0, 256, (32, 32, 3), dtype=np.uint8)
    return transform(dict(img=image, sample_key=SampleKey(0, 0, index)))


@pytest.mark.parametrize(('ratio', 'kept', 'most'), [(0.15, 9, 6), (0.25, 16, 4), (0.5, 32, 2), (1.0, 64, 1)])
def test_every_ratio_fills_its_chunks(ratio: float, kept: int, most: int) -> None:
    results = sample(pair(ratio=ratio))
    tokens = results['tokens']
    assert (results['patch_grid'], tokens.shape, tokens.dtype) == ((8, 8), (2, most, kept), torch.int64)
    assert len(tokens[0].unique()) == most * kept, 'the chunks of view 1 are disjoint'
    assert all(len(chunk.unique()) == kept for chunk in tokens[1])
    assert 0 <= tokens.min() <= tokens.max() < 64


def test_samples_follow_their_key_and_patches_not_the_colours() -> None:
    """Runs that differ only in their colours can be compared patch by patch."""
    first = sample(pair())
    np.random.seed(5)
    again, other = sample(pair()), sample(pair(), 1)
    assert all((a == b).all() for a, b in zip(first['img'], again['img'], strict=True))
    solarize = dict(type='mmpretrain.Solarize', thr=128, prob=0.5)
    coloured = sample(pair(transforms=[[CROP, FLIP, solarize]] * 2))
    assert torch.equal(first['tokens'], again['tokens']) and torch.equal(first['tokens'], coloured['tokens'])
    assert not torch.equal(first['tokens'], other['tokens'])


def test_identical_views_share_no_patch_in_spite_of_flips() -> None:
    """The pixels that a numbered image shows, not the sampler's own geometry, tell whether patches are shared."""
    whole = dict(CROP, scale=16, crop_ratio_range=(1.0, 1.0), aspect_ratio_range=(1.0, 1.0), interpolation='nearest')
    numbers = np.repeat(np.repeat(np.arange(64, dtype=np.uint8).reshape(8, 8), 2, axis=0), 2, axis=1)
    image = np.stack([numbers] * 3, axis=-1)
    shared = {True: 0, False: 0}
    for flip_aware in shared:
        transform = pair(whole, flip_aware=flip_aware)
        for index in range(40):
            results = transform(dict(img=image, sample_key=SampleKey(0, 0, index)))
            shown = [
                view[::2, ::2, 0].flatten()[tokens]
                for view, tokens in zip(results['img'], results['tokens'], strict=True)
            ]
            shared[flip_aware] += sum(len(np.intersect1d(one, other)) for one, other in zip(*shown, strict=True))
    assert shared[True] == 0
    assert shared[False] > 100, 'half of the pairs are flipped against each other, and the authors ignore it'


def test_the_box_is_what_was_cropped() -> None:
    image = np.arange(24 * 20 * 3, dtype=np.uint8).reshape(24, 20, 3)
    settings = dict(scale=8, crop_ratio_range=(0.2, 0.6), backend='pillow')
    for seed in range(10):
        np.random.seed(seed)
        results = RecordedResizedCrop(**settings)(dict(img=image))
        np.random.seed(seed)
        np.testing.assert_array_equal(RandomResizedCrop(**settings)(dict(img=image))['img'], results['img'])
        top, left, height, width = results['crop_box']
        cut = mmcv.imresize(image[top : top + height, left : left + width], (8, 8), backend='pillow')
        np.testing.assert_array_equal(cut, results['img'])


@pytest.mark.parametrize(
    ('settings', 'named'),
    [
        (dict(ratio=0.0), 'ratio=0.0 must lie in (0, 1]'),
        (dict(power=-1.0), 'power=-1.0 not be negative'),
        (dict(ratio=0.5, chunks=3), 'between 1 and 2, as many as ratio=0.5 allows, not 3'),
        (dict(transforms=[[CROP]]), 'must be two pipelines'),
        (dict(transforms=[[dict(CROP, type='mmpretrain.RandomResizedCrop')]] * 2), 'start with RecordedResizedCrop'),
        (dict(transforms=[[FLIP, CROP]] * 2), 'crop first, then flip'),
        # found at the first image
        (dict(patch_size=3), 'patch_size=3 must divide'),
        (dict(transforms=[[CROP], [dict(CROP, scale=8)]]), '(16, 16) and (8, 8)'),
        (dict(patch_size=8, ratio=0.2), 'of 4 patches keeps none'),
        (dict(transforms=[[CROP, dict(FLIP, prob=1.0, direction='vertical')]] * 2), "not 'vertical'"),
    ],
)
def test_what_is_refused(settings: dict, named: str) -> None:
    with pytest.raises(UserError) as error:
        sample(pair(**settings))
    assert named in str(error.value)
