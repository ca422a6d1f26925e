"""Views are functions of their key, and colour transforms do what they say."""

import random

import numpy as np
import pytest
from mmpretrain.datasets import MultiView

from mixcl.datasets import ColourNoise, KeyedMultiView, RandomErasing, RGBToBGR, SampleKey

TRANSFORMS = {
    'crop': dict(type='mmpretrain.RandomResizedCrop', scale=12, backend='pillow', interpolation='bicubic'),
    'jitter': dict(
        type='RandomApply',
        prob=0.8,
        transforms=dict(type='mmpretrain.ColorJitter', brightness=0.4, contrast=0.4, saturation=0.2, hue=0.1),
    ),
    'grey': dict(type='RandomGrayscale', prob=0.5, keep_channels=True, channel_weights=(0.114, 0.587, 0.2989)),
    'blur': dict(type='mmpretrain.GaussianBlur', magnitude_range=(0.1, 2.0), magnitude_std='inf', prob=0.5),
    'solarize': dict(type='mmpretrain.Solarize', thr=128, prob=0.5),
    'flip': dict(type='RandomFlip', prob=0.5),
}


def noise_image() -> np.ndarray:
    return np.random.default_rng(0).integers(0, 256, (16, 16, 3), dtype=np.uint8)


def disturb_generators(seed: int) -> None:
    random.seed(seed)
    np.random.seed(seed)


def test_each_transform_follows_the_key_alone() -> None:
    for name, transform in TRANSFORMS.items():
        views, runs = KeyedMultiView(num_views=[2], transforms=[[transform]]), []
        for disturbance in (1, 2):
            disturb_generators(disturbance)
            results = [{'img': noise_image(), 'sample_key': SampleKey(0, 0, index)} for index in range(20)]
            runs.append([view.tobytes() for images in map(views, results) for view in images['img']])
        assert runs[0] == runs[1], name
        assert len(set(runs[0])) >= 2, f'{name} did not draw: neither "on" nor "off"'


def test_views_number_on_over_the_pipelines() -> None:
    flip_or_not = [TRANSFORMS['crop'], TRANSFORMS['flip']]
    one_by_two = KeyedMultiView(num_views=[2], transforms=[flip_or_not])
    two_by_one = KeyedMultiView(num_views=[1, 1], transforms=[flip_or_not, flip_or_not])
    results = {'img': noise_image(), 'sample_key': SampleKey(0, 0, 0)}
    first, second = one_by_two(results)['img']
    assert not np.array_equal(first, second)
    assert np.array_equal([first, second], two_by_one(results)['img'])


def test_without_a_key_it_is_mmpretrains_multi_view() -> None:
    def blacken(results: dict) -> dict:
        results['img'][:] = 0  # in place, but no other view changes
        return results

    outputs = []
    for kind in (MultiView, KeyedMultiView):
        disturb_generators(3)
        views = kind(num_views=[1, 1, 2], transforms=[[blacken], [], [TRANSFORMS['crop'], TRANSFORMS['flip']]])
        outputs.append(np.stack([np.resize(view, (16, 16, 3)) for view in views({'img': noise_image()})['img']]))
    assert np.array_equal(*outputs)


def test_rgb_to_bgr() -> None:
    flipped = RGBToBGR()({'img': noise_image()})['img']
    assert np.array_equal(flipped, np.stack([noise_image()[..., channel] for channel in (2, 1, 0)], axis=-1))
    assert flipped.flags.c_contiguous


def test_erasing_fills_a_box_with_noise_that_nothing_clips() -> None:
    np.random.seed(0)
    erasing = RandomErasing(erase_prob=1.0, min_area_ratio=0.3, fill_color=[10, 100, 250], fill_std=[20, 40, 60])
    image = np.full((200, 200, 3), 7, dtype=np.uint8)
    found = erasing({'img': image})['img']
    box = (found != image).all(axis=-1)
    assert 0.3 <= box.mean() <= 0.4 and (image == 7).all() and (found[~box] == 7).all()
    assert found[box].mean(axis=0) == pytest.approx([10, 100, 250], abs=3)
    assert found[box].std(axis=0) == pytest.approx([20, 40, 60], rel=0.05)


def test_colour_noise_keeps_the_order_of_colours_and_never_wraps_around() -> None:
    image = np.zeros((2, 2, 3), dtype=np.uint8)
    image[...] = (255, 100, 0)
    np.random.seed(0)
    outputs = np.stack([ColourNoise()({'img': image})['img'][0, 0] for _ in range(2000)])
    noise = outputs - (255, 100, 0)
    assert np.abs(noise).max() < 30
    assert outputs[:, 0].max() > 255 and outputs[:, 2].min() < 0
    # Red varies with the first and the second component, and blue with the opposite of the second.
    rgb = np.array([[-0.5675, 0.7192, 0.4009], [-0.5808, -0.0045, -0.8140], [-0.5836, -0.6948, 0.4203]])
    rgb = rgb * 0.1 * np.array([55.4625, 4.7940, 1.1475])
    assert np.cov(noise[:, ::-1].T) == pytest.approx(rgb @ rgb.T, rel=0.1)
    assert noise.mean(axis=0) == pytest.approx([0, 0, 0], abs=0.3)
