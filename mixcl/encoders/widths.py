"""What an encoder gives for images of a size, found by encoding a black one."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import torch
from mmpretrain.models import VisionTransformer
from torch import nn

from mixcl.encoders.outputs import pooled_output
from mixcl.errors import UserError
from mixcl.randomness import undisturbed_generators

SIZES = (32, 224)
"""Sides of the images that backbones without a size of their own are tried with; small ones cost less."""


def feature_width(backbone: nn.Module, in_channels: int = 3, size: int | Sequence[int] | None = None) -> int:
    """Return the number of channels of a backbone's features (B, C), maps averaged over space.

    Args:
        backbone: on any device, also the meta device.
        in_channels: channels of its images.
        size: of its images, one side or (height, width); by default a small size that it takes, or its own.

    Raises:
        UserError: if it encodes no image of such a size, or gives no vector or map for it.
    """
    if isinstance(backbone, VisionTransformer):
        return backbone.embed_dims
    failure: Exception | None = None
    for tried in [size] if size else [SIZES[0], *own_sizes(backbone), SIZES[1]]:
        try:
            return pooled_output(blank_outputs(backbone, in_channels, tried), backbone).shape[1]
        except UserError:
            raise
        except Exception as error:  # a user's module may raise anything
            failure = error
    raise UserError(
        f'the width of the features of {type(backbone).__name__} is unknown, since it does not encode images of '
        f'{tried} pixels ({" ".join(str(failure).split())[:100]}): write model.neck.in_channels'
    ) from failure


def blank_outputs(encoder: nn.Module, channels: int, size: int | Sequence[int], **options: Any) -> Any:
    """Encode one black image, whose size is one side or (height, width); modes and statistics stay as they are."""
    height, width = (size, size) if isinstance(size, int) else size
    with evaluating(encoder), undisturbed_generators():
        return encoder(next(encoder.parameters(), torch.zeros(0)).new_zeros(1, channels, height, width), **options)


@contextmanager
def evaluating(model: nn.Module) -> Iterator[None]:
    """Put a model into evaluation mode without gradients, and restore the mode of each of its parts afterwards."""
    modes = [(module, module.training) for module in model.modules()]
    model.eval()
    try:
        with torch.no_grad():
            yield
    finally:
        for module, training in modes:
            module.training = training


def image_channels(backbone: nn.Module) -> int:
    """Return the channels of the images that a backbone takes, those of its first convolution; 3 if it has none."""
    return next((part.in_channels for part in backbone.modules() if isinstance(part, nn.Conv2d)), 3)


def own_sizes(backbone: Any) -> list[int | Sequence[int]]:
    model = getattr(backbone, 'model', backbone)
    told = (getattr(model, 'default_cfg', None) or {}).get('input_size') or ()  # timm's, (channels, height, width)
    sizes = [getattr(backbone, 'img_size', None), getattr(model, 'image_size', None), told[1:]]
    return [size for size in sizes if size]
