"""Pillow's operations on colours, for batches of views on a GPU (photometry_cpu.py has them for CPUs).

A view's photometry is a short program: rows ``(operation, number)`` that a worker has drawn, see
:mod:`mixcl.datasets.transforms.drawing`. The device runs each operation on all views of the batch that have it in the
same place of their programs. The host selects these views, so that nothing waits for the device.

Everything follows Pillow's 8-bit arithmetic (values are truncated to integers after every operation, hues have 255
levels, a blur is three box blurs), as mmpretrain's transforms do on the CPU. kornia 0.9 does not: its hues and blurs
are continuous (off by up to 13 and 3 levels) and take twice as long on a CPU, its contrast scales from black, and its
jitter has one order for the whole batch.
"""

import functools
from enum import IntEnum
from typing import TypeVar

import numpy as np
import torch
from PIL import Image
from torch import Tensor
from torch.nn import functional

LEVELS = 256
SIDE = 511
"""Number of values of the difference of two channels."""
Number = TypeVar('Number', float, Tensor)


class Operation(IntEnum):
    """Operation of a row of a program, and the meaning of its number."""

    NOTHING = 0
    BRIGHTNESS = 1
    """Factor, at least 0; likewise for the next two."""
    CONTRAST = 2
    SATURATION = 3
    HUE = 4
    """Turn of the colour circle, in [-0.5, 0.5]."""
    GRAY = 5
    BLUR = 6
    """Pillow's radius, which is a standard deviation in pixels."""
    SOLARIZE = 7
    """Threshold; values from it on are inverted."""
    FLIP = 8
    """Mirroring left to right."""


@torch.no_grad()
def run_programs(images: Tensor, programs: Tensor) -> Tensor:
    """Run every image's program, in place.

    Args:
        images: (B, C, h, w) float32, contiguous, integers in [0, 255]; saturation, hue and gray need RGB.
        programs: (B, n, 2) float32 on the CPU: operations and their numbers.

    Returns:
        ``images``, again integers in [0, 255].
    """
    steps = [
        (Operation(code), place, (programs[:, place, 0] == code).nonzero()[:, 0])
        for place in range(programs.shape[1])
        for code in programs[:, place, 0].unique().int().tolist()
        if code != Operation.NOTHING
    ]
    if not steps:
        return images
    # One transfer for all, without waiting.
    rows = torch.cat([chosen for *_, chosen in steps]).to(images.device, non_blocking=True)
    numbers = torch.cat([programs[chosen, place, 1] for _, place, chosen in steps])
    numbers = numbers.to(images.device, non_blocking=True)[:, None, None, None]
    begin = 0
    with torch.autocast(images.device.type, enabled=False):  # half precision would be too coarse for a blur
        for operation, _, chosen in steps:
            part = slice(begin, begin + len(chosen))
            begin += len(chosen)
            if len(chosen) == len(images):
                images.copy_(IMPLEMENTATIONS[operation](images, numbers[part]))
            else:
                images.index_copy_(0, rows[part], IMPLEMENTATIONS[operation](images[rows[part]], numbers[part]))
    return images


def luma(images: Tensor) -> Tensor:
    """Return Pillow's mode L, (B, 1, h, w); if the images are not RGB, the mean of the channels."""
    if images.shape[1] != 3:
        return images.mean(1, keepdim=True).add_(0.5).floor_()
    red, green, blue = images.split(1, dim=1)
    return (red * 0.299).add_(green, alpha=0.587).add_(blue, alpha=0.114).add_(0.5).floor_()


def _blend(images: Tensor, base: Tensor | float, factor: Tensor) -> Tensor:
    return (images - base).mul_(factor).add_(base).floor_().clamp_(0, 255)


def brightness(images: Tensor, factor: Tensor) -> Tensor:
    """Reproduce ``ImageEnhance.Brightness``. Here and below, numbers are (B, 1, 1, 1)."""
    return (images * factor).floor_().clamp_(0, 255)


def contrast(images: Tensor, factor: Tensor) -> Tensor:
    """Reproduce ``ImageEnhance.Contrast``: scale around the mean brightness, which is an integer."""
    return _blend(images, luma(images).mean((2, 3), keepdim=True).add_(0.5).floor_(), factor)


def saturation(images: Tensor, factor: Tensor) -> Tensor:
    """Reproduce ``ImageEnhance.Color``."""
    return _blend(images, luma(images), factor)


def hue(images: Tensor, turn: Tensor) -> Tensor:
    """Rotate the channel H of Pillow's mode HSV, as torchvision and mmcv do."""
    value = torch.maximum(torch.maximum(images[:, :1], images[:, 1:2]), images[:, 2:])
    red, green, blue = (value - images).split(1, dim=1)  # how much less each is than the largest
    # The differences red - blue and green - blue as one number; exact in single precision.
    place = (blue - red).mul_(SIDE).add_(blue - green).add_(SIDE * 255 + 255)
    level = _levels(images.device).index_select(0, place.flatten().int()).view_as(place)
    # In sixths of the colour circle: hues wrap around after 256 levels, but count as fractions of 255.
    sixth = level.add_((turn * 255).trunc_()).remainder_(LEVELS).mul_(6 / 255)
    sixth = sixth.where(sixth < 6, sixth - 6)
    chroma = torch.maximum(torch.maximum(red, green), blue)
    depth = chroma.mul_(255).div_(value.clamp(min=1)).floor_().div_(255).mul_(value)
    # How much of each colour a hue lacks: none in the two sixths around it, all in the two opposite ones.
    lacking = torch.cat([2 - (sixth - 3).abs_(), (sixth - 2).abs_() - 1, (sixth - 4).abs_() - 1], dim=1).clamp_(0, 1)
    return torch.addcmul(value, lacking, depth, value=-1).add_(0.5).floor_()


@functools.cache
def _levels(device: torch.device) -> Tensor:
    return torch.from_numpy(hue_levels()).float().to(device, non_blocking=True)


@functools.cache
def hue_levels() -> np.ndarray:
    """Compute (511 * 511,) uint8: Pillow's H by the differences red - blue and green - blue, each from -255.

    Pillow's rounding in single and double precision decides into which of 255 levels a hue falls.
    """
    red, green = np.meshgrid(np.arange(-255, 256), np.arange(-255, 256), indexing='ij')
    colours = np.stack([red, green, np.zeros_like(red)], axis=-1)
    colours -= colours.min(axis=-1, keepdims=True)
    return np.array(Image.fromarray(colours.clip(0, 255).astype(np.uint8)).convert('HSV'))[..., 0].flatten()


def gray(images: Tensor, number: Tensor) -> Tensor:
    """Reproduce mmcv's ``RandomGrayscale`` with the weights .2989, .587 and .114, which it scales to a sum of 1."""
    red, green, blue = images.split(1, dim=1)
    shade = (red * (0.2989 / 0.9999)).add_(green, alpha=0.587 / 0.9999).add_(blue, alpha=0.114 / 0.9999)
    # Rounding may turn three equal channels into just less than their value.
    return shade.add_(1e-4).floor_().expand_as(images)


def blur(images: Tensor, radius: Tensor) -> Tensor:
    """Reproduce ``ImageFilter.GaussianBlur`` up to rounding between its six passes: up to 3 levels, mostly none."""
    height, width = images.shape[2:]
    radius = radius.flatten()
    across = _blur_matrices(radius, width)
    down = across if height == width else _blur_matrices(radius, height)
    rows = (images.flatten(1, 2) @ across.mT).reshape_as(images)
    return (down[:, None] @ rows).add_(0.5).floor_().clamp_(0, 255)


def _blur_matrices(radius: Tensor, length: int) -> Tensor:
    """Compute three box blurs as matrices (B, length, length) on a line whose end values continue."""
    box = box_radius(radius)[:, None, None]
    place = torch.arange(length, device=radius.device)
    # The share of the box around pixel i that lies before the end of pixel j, except at the ends of the line.
    reach = ((place[None, :-1] - place[:, None] + 1 + box) / (2 * box + 1)).clamp(0, 1)
    single = functional.pad(functional.pad(reach, (0, 1), value=1.0), (1, 0)).diff(dim=2)
    return single @ single @ single


def box_radius(radius: Number, passes: int = 3) -> Number:
    """Compute the radius of the box in pixels, possibly fractional (Gwosdek et al., 2011, eq. 7, 11 and 14)."""
    variance = radius**2 / passes
    whole = ((12 * variance + 1) ** 0.5 - 1) // 2
    part = (2 * whole + 1) * (whole * (whole + 1) - 3 * variance) / (6 * (variance - (whole + 1) ** 2))
    return whole + part


def solarize(images: Tensor, threshold: Tensor) -> Tensor:
    """Invert values from the threshold on."""
    return torch.where(images < threshold, images, 255 - images)


def flip(images: Tensor, number: Tensor) -> Tensor:
    """Mirror left to right."""
    return images.flip(3)


IMPLEMENTATIONS = dict(
    zip(list(Operation)[1:], (brightness, contrast, saturation, hue, gray, blur, solarize, flip), strict=True)
)
