"""The operations of :mod:`mixcl.datasets.transforms.photometry` on 8-bit images in memory, one after the other.

On a CPU, OpenCV's arithmetic of 8-bit pixels is several times as fast as tensors. It agrees with Pillow within
2 levels for each operation, when told to round and to divide the colour circle as Pillow does.
"""

import math
from collections.abc import Callable

import cv2
import numpy as np
import torch
from torch import Tensor

from mixcl.datasets.transforms.photometry import SIDE, Operation, box_radius, hue_levels

Pixels = np.ndarray
"""Image: (h, w, 3) uint8 in RGB order; (h, w, C) or (h, w) if not in colour."""

LUMA = np.array([[0.299, 0.587, 0.114]])
GRAY = np.array([[0.2989, 0.587, 0.114]]) / 0.9999
TRUNCATION = -0.4
"""Offset, since OpenCV rounds and Pillow truncates. Not -0.5, since 10-bit weights may sum to just less than 1."""
SMALL = 48 * 48
"""Pixels of an image up to which numpy changes its layout faster than OpenCV, whose calls take 0.01 ms for any."""


def run_programs(images: Tensor, programs: Tensor) -> Tensor:
    """Run every image's program.

    Args:
        images: (B, C, h, w) uint8 on the CPU; saturation, hue and gray need RGB.
        programs: (B, n, 2) float32 on the CPU: operations and their numbers.

    Returns:
        Images of the same shape and dtype.
    """
    finished = np.empty(images.shape, dtype=np.uint8)
    small = images[0, 0].numel() <= SMALL
    for planes, before, program in zip(finished, images.numpy(), programs.tolist(), strict=True):
        image = np.ascontiguousarray(before.transpose(1, 2, 0)) if small else cv2.merge(list(before))
        for code, number in program:
            if code != Operation.NOTHING:
                image = IMPLEMENTATIONS[code](image, number)
        if small:
            planes[:] = image.reshape(*planes.shape[1:], -1).transpose(2, 0, 1)
        else:
            cv2.split(image, list(planes))
    return torch.from_numpy(finished)


def _looked_up(image: Pixels, values: np.ndarray) -> Pixels:
    return cv2.LUT(image, values.clip(0, 255).astype(np.uint8))


def brightness(image: Pixels, factor: float) -> Pixels:
    """Reproduce ``ImageEnhance.Brightness``."""
    return _looked_up(image, np.arange(256) * factor)


def contrast(image: Pixels, factor: float) -> Pixels:
    """Reproduce ``ImageEnhance.Contrast``: scale around the mean brightness, which is an integer."""
    mean = int((LUMA[0] @ cv2.mean(image)[:3] if image.shape[2:] == (3,) else image.mean()) + 0.5)
    return _looked_up(image, mean + (np.arange(256) - mean) * factor)


def _mixed(image: Pixels, weights: np.ndarray) -> Pixels:
    """Make every channel a sum of the three, weights (3, 3), truncated to integers."""
    return cv2.transform(image, np.append(weights, np.full((3, 1), TRUNCATION), axis=1))


def saturation(image: Pixels, factor: float) -> Pixels:
    """Reproduce ``ImageEnhance.Color``."""
    return _mixed(image, factor * np.eye(3) + (1 - factor) * LUMA)


def gray(image: Pixels, number: float) -> Pixels:
    """Reproduce mmcv's ``RandomGrayscale`` with the weights .2989, .587 and .114."""
    return _mixed(image, np.repeat(GRAY, 3, axis=0))


def hue(image: Pixels, turn: float) -> Pixels:
    """Rotate the channel H of Pillow's mode HSV, as torchvision and mmcv do.

    OpenCV converts from HSV with Pillow's 255 levels of hue, but to HSV with 256, so hues are looked up.
    """
    # The differences red - blue and green - blue as one number; exact in single precision.
    weights = np.array([[SIDE, 1, -SIDE - 1, SIDE * 255 + 255]], dtype=np.float32)
    place = cv2.transform(image.astype(np.float32), weights).astype(np.int64)
    turned = cv2.cvtColor(image, cv2.COLOR_RGB2HSV_FULL)
    cv2.insertChannel((hue_levels() + np.uint8(int(turn * 255) % 256))[place], turned, 0)
    return cv2.cvtColor(turned, cv2.COLOR_HSV2RGB_FULL)


def blur(image: Pixels, radius: float) -> Pixels:
    """Reproduce ``ImageFilter.GaussianBlur``: three box blurs along the rows and three along the columns."""
    box = box_radius(radius)
    reach = math.ceil(box)
    kernel = np.minimum(box - np.abs(np.arange(-reach, reach + 1)) + 1, 1)[None] / (2 * box + 1)
    for across in [kernel] * 3 + [kernel.T] * 3:
        image = cv2.filter2D(image, -1, across, borderType=cv2.BORDER_REPLICATE)
    return image


def solarize(image: Pixels, threshold: float) -> Pixels:
    """Invert values from the threshold on."""
    values = np.arange(256)
    return _looked_up(image, np.where(values < threshold, values, 255 - values))


def flip(image: Pixels, number: float) -> Pixels:
    """Mirror left to right."""
    return cv2.flip(image, 1)


IMPLEMENTATIONS: dict[float, Callable[[Pixels, float], Pixels]] = dict(
    zip(list(Operation)[1:], (brightness, contrast, saturation, hue, gray, blur, solarize, flip), strict=True)
)
