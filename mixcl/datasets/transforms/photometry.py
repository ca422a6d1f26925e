"""Pillow's operations on colours, for batches of views on a GPU (photometry_cpu.py has them for CPUs).

A view's photometry is a short program: rows ``(operation, number)`` that a worker has drawn, see
:mod:`mixcl.datasets.transforms.drawing`. The device runs each operation on many views of the batch together. The host
selects these views, so that nothing waits for the device. A GPU spends its time on moving pixels, so they are bytes
between operations.

Everything follows Pillow's 8-bit arithmetic (values are truncated to integers after every operation, hues have 255
levels, a blur is three box blurs), as mmpretrain's transforms do on the CPU. kornia 0.9 does not: its hues and blurs
are continuous (off by up to 13 and 3 levels) and take twice as long on a CPU, its contrast scales from black, and its
jitter has one order for the whole batch.
"""

import functools
from collections.abc import Iterator, Sequence
from enum import IntEnum
from typing import TypeVar

import numpy as np
import torch
from PIL import Image
from torch import Tensor

LEVELS = 256
SIDE = 511
"""Number of values of the difference of two channels."""
LUMA = [19595 / 2**16, 38470 / 2**16, 7471 / 2**16]
"""Pillow's weights of red, green and blue, whose sums single precision holds exactly."""
GRAY = [0.2989 / 0.9999, 0.587 / 0.9999, 0.114 / 0.9999]
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
        images: (B, C, h, w) uint8, contiguous; saturation, hue and gray need RGB.
        programs: (B, n, 2) float32 on the CPU: operations and their numbers.

    Returns:
        ``images``.
    """
    steps = list(merged_steps(programs[:, :, 0].int().numpy()))
    if not steps:
        return images
    # One transfer for all, without waiting.
    _, owners, places = zip(*steps, strict=True)
    rows = torch.from_numpy(np.concatenate(owners))
    numbers = programs[rows, torch.from_numpy(np.concatenate(places)), 1, None, None, None]
    rows, numbers = (values.to(images.device, non_blocking=True) for values in (rows, numbers))
    begin = 0
    with torch.autocast(images.device.type, enabled=False):  # half precision would be too coarse for a blur
        for operation, chosen, _ in steps:
            part = slice(begin, begin + len(chosen))
            begin += len(chosen)
            if len(chosen) == len(images):
                images.copy_(IMPLEMENTATIONS[operation](images, numbers[part]))
            else:
                images.index_copy_(0, rows[part], IMPLEMENTATIONS[operation](images[rows[part]], numbers[part]))
    return images


def merged_steps(codes: np.ndarray) -> Iterator[tuple[Operation, np.ndarray, np.ndarray]]:
    """Yield few steps that run all programs, whose operations are (B, n): operation, images, rows of their programs.

    A step is for all images whose next operation it is. First comes an operation that no image has after others, else
    that of the smallest code. So all images are blurred in one step, for example, wherever their programs say so.
    """
    codes = np.append(codes, np.zeros_like(codes[:, :1]), axis=1)
    order = (codes == Operation.NOTHING).argsort(axis=1, kind='stable')
    codes = np.take_along_axis(codes, order, axis=1)
    images, done = np.arange(len(codes)), np.zeros(len(codes), dtype=int)
    left = np.bincount(codes.flatten(), minlength=len(Operation))[1:]
    while left.any():
        following = codes[images, done]
        waiting = np.bincount(following, minlength=len(Operation))[1:]
        ready = (waiting > 0) & (waiting == left)
        code = 1 + int((ready if ready.any() else waiting > 0).argmax())
        chosen = (following == code).nonzero()[0]
        yield Operation(code), chosen, order[chosen, done[chosen]]
        done[chosen] += 1
        left[code - 1] -= len(chosen)


def luma(images: Tensor) -> Tensor:
    """Return Pillow's mode L, (B, 1, h, w) uint8; if the images are not RGB, the mean of the channels."""
    if images.shape[1] != 3:
        return images.mean(1, keepdim=True, dtype=torch.float32).add_(0.5).byte()
    return _weighted(images, LUMA, 0.5)


def _weighted(images: Tensor, weights: Sequence[float], offset: float) -> Tensor:
    """Return a weighted sum of the three channels, truncated to an integer."""
    red, green, blue = images.split(1, dim=1)
    weighted = (red * weights[0]).add_(green, alpha=weights[1]).add_(blue, alpha=weights[2])
    return weighted.add_(offset).byte()


def _looked_up(images: Tensor, values: Tensor) -> Tensor:
    """Replace the levels of each image by its ``values``, (B, 256) float."""
    table = values.clamp(0, LEVELS - 1).byte().flatten()
    first = torch.arange(0, len(table), LEVELS, dtype=torch.int32, device=images.device)
    return table.index_select(0, (images + first[:, None, None, None]).flatten()).view_as(images)


def brightness(images: Tensor, factor: Tensor) -> Tensor:
    """Reproduce ``ImageEnhance.Brightness``. Here and below, numbers are (B, 1, 1, 1)."""
    return _looked_up(images, torch.arange(LEVELS, device=images.device) * factor.view(-1, 1))


def contrast(images: Tensor, factor: Tensor) -> Tensor:
    """Reproduce ``ImageEnhance.Contrast``: scale around the mean brightness, which is an integer."""
    mean = luma(images).mean((1, 2, 3), dtype=torch.float32).add_(0.5).floor_()[:, None]
    distance = torch.arange(LEVELS, device=images.device) - mean
    return _looked_up(images, distance.mul_(factor.view(-1, 1)).add_(mean))


def saturation(images: Tensor, factor: Tensor) -> Tensor:
    """Reproduce ``ImageEnhance.Color``."""
    base = luma(images).short()
    return torch.addcmul(base, images - base, factor).clamp_(0, LEVELS - 1).byte()


def hue(images: Tensor, turn: Tensor) -> Tensor:
    """Rotate the channel H of Pillow's mode HSV, as torchvision and mmcv do."""
    levels, depths, lacking = _hue_tables(images.device)
    red, green, blue = images.split(1, dim=1)
    value = images.amax(1, keepdim=True)
    chroma = value - images.amin(1, keepdim=True)
    # The differences red - blue and green - blue as one number.
    place = torch.add(green.int(), red, alpha=SIDE).add_(255 - blue, alpha=SIDE + 1)
    # Hues count as fractions of 255, but wrap around after 256 levels, as bytes do.
    level = levels.index_select(0, place.flatten()).view_as(value) + (turn * 255).int().byte()
    depth = depths.index_select(0, torch.add(chroma.int(), value, alpha=LEVELS).flatten()).view_as(value)
    channel = torch.arange(0, 3 * LEVELS, LEVELS, dtype=torch.int32, device=images.device)[:, None, None]
    lacks = lacking.index_select(0, (level + channel).flatten()).view_as(images)
    return torch.addcmul(value + 0.5, lacks, depth, value=-1).byte()


@functools.cache
def _hue_tables(device: torch.device) -> list[Tensor]:
    """Return :func:`hue_levels`, and two tables in 85ths, so that bytes can hold the second.

    A colour is its largest channel less, in each channel, a part of the depth: (256 * 256,) float32 by
    ``256 * value + chroma``. That part is none in the two sixths of the circle around the channel's own hue, and all in
    the two opposite ones: (3 * 256,) uint8 by ``256 * channel + level``.
    """
    value, chroma = torch.meshgrid(*[torch.arange(LEVELS)] * 2, indexing='ij')
    depths = (chroma * 255 / value.clamp(min=1)).floor_().div_(255).mul_(value) / 85
    twice = 2 * torch.arange(LEVELS)
    lacking = torch.stack([170 - (twice - 255).abs(), (twice - 170).abs() - 85, (twice - 340).abs() - 85])
    tables = torch.from_numpy(hue_levels()), depths, lacking.clamp_(0, 85).byte()
    return [table.flatten().to(device, non_blocking=True) for table in tables]


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
    # Rounding may turn three equal channels into just less than their value.
    return _weighted(images, GRAY, 1e-4).expand_as(images)


def blur(images: Tensor, radius: Tensor) -> Tensor:
    """Reproduce ``ImageFilter.GaussianBlur`` up to rounding between its six passes: up to 3 levels, mostly none."""
    count, channels, height, width = images.shape
    radius = radius.flatten()
    across = _blur_matrices(radius, width)
    down = across if height == width else _blur_matrices(radius, height)
    # Lines of all channels side by side are one matrix in either direction. Weights sum to 1, so 0.5 stays, but for
    # rounding: TF32's may lift white above 256, which is black as a byte.
    lines = images.transpose(1, 2).contiguous() + 0.5
    blurred = (down @ lines.view(count, height, -1)).view(count, -1, width) @ across.mT
    return blurred.clamp_(max=LEVELS - 1).byte().view(count, height, channels, width).transpose(1, 2)


def _blur_matrices(radius: Tensor, length: int) -> Tensor:
    """Compute three box blurs as matrices (B, length, length) on a line whose end values continue."""
    box = box_radius(radius)[:, None, None]
    place = torch.arange(length + 1, device=radius.device)
    # The share of the box around pixel i that lies before pixel j, except at the ends of the line.
    begin = (place - place[:-1, None]).float()
    begin[:, 0], begin[:, -1] = -torch.inf, torch.inf
    single = ((begin + box) / (2 * box + 1)).clamp_(0, 1).diff(dim=2)
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
