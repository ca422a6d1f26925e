"""Sizes and channels of the simple feature pyramid."""

import torch

from mixcl.registry import MODELS


def build(**settings):
    return MODELS.build(dict(type='mixcl.SimpleFeaturePyramid', **settings))


def test_five_maps_of_strides_4_to_64():
    pyramid = build(in_channels=32, out_channels=16)
    maps = pyramid((torch.randn(2, 32, 4, 6), torch.randn(2, 32, 8, 12)))
    assert [tuple(level.shape) for level in maps] == [
        (2, 16, 32, 48), (2, 16, 16, 24), (2, 16, 8, 12), (2, 16, 4, 6), (2, 16, 2, 3),
    ]  # fmt: skip
    assert torch.equal(maps[4], maps[3][:, :, ::2, ::2])
    torch.testing.assert_close(maps[2].mean(1), torch.zeros(2, 8, 12), atol=1e-5, rtol=0)  # normalised over channels


def test_parameters_are_those_of_vitdet():
    """Counted by hand for ViT-B: deconvolutions with bias, convolutions without, a norm after each convolution."""
    channels, out = 768, 256
    deconvolutions = 2 * (channels * 384 * 4 + 384) + 2 * 384 + 384 * 192 * 4 + 192
    convolutions = sum(width * out + 9 * out * out + 4 * out for width in (192, 384, 768, 768))
    pyramid = build(in_channels=channels)
    assert sum(parameter.numel() for parameter in pyramid.parameters()) == deconvolutions + convolutions
