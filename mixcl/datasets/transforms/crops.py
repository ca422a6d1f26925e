"""Random resized crops: one that remembers its box, and one that is faster than Pillow."""

from types import SimpleNamespace
from typing import Any

import numpy as np
import torch
from mmcv.transforms import BaseTransform
from mmpretrain.datasets import RandomResizedCrop
from torch.nn import functional

from mixcl.registry import TRANSFORMS


@TRANSFORMS.register_module()
class RecordedResizedCrop(RandomResizedCrop):
    """mmpretrain's ``RandomResizedCrop``, same arguments and draws, which adds its box to the results."""

    def transform(self, results: dict) -> dict:
        """Replace ``img`` by a crop; add ``crop_box``, (top, left, height, width) in pixels of the incoming image."""
        return {**super().transform(results), 'crop_box': self._box}

    def rand_crop_params(self, img: np.ndarray) -> tuple[int, int, int, int]:
        self._box = super().rand_crop_params(img)
        return self._box


class FastResizedCrop(BaseTransform):
    """Same as the crop that it replaces, with the same draws, in half the time.

    The box is drawn for ``full_shape`` (height, width); the image may have been decoded at a fraction of this size.

    Args:
        crop: a transform that :meth:`replaces` accepts.

    Attributes:
        size: (height, width) of the views.
    """

    def __init__(self, crop: RandomResizedCrop) -> None:
        self.size = tuple(crop.scale)
        self._crop = crop

    @staticmethod
    def replaces(transform: Any) -> bool:
        """Whether a transform is a random resized crop with Pillow's bilinear or bicubic interpolation."""
        return (
            type(transform) in (RandomResizedCrop, RecordedResizedCrop)
            and transform.backend == 'pillow'
            and transform.interpolation in ('bilinear', 'bicubic')
        )

    @property
    def pixels(self) -> float:
        """Number of pixels that an image needs for its smallest crop not to be enlarged."""
        (height, width), (least, most) = self.size, self._crop.aspect_ratio_range
        return max(width**2 / least, height**2 * most) / max(self._crop.crop_ratio_range[0], 1e-6)

    def draw(self, shape: tuple[int, int]) -> tuple[int, int, int, int]:
        """Draw a box (top, left, height, width) in an image of this (height, width)."""
        return self._crop.rand_crop_params(SimpleNamespace(shape=shape))  # it reads no more

    def transform(self, results: dict) -> dict:
        return self.cropped(results, self.draw(full_shape(results)))

    def cropped(self, results: dict, box: tuple[int, int, int, int]) -> dict:
        """Replace ``img``, uint8 (h, w, 3), by the crop; ``crop_box`` is the place of its pixels in the full image."""
        image, full = results['img'], full_shape(results)
        shape, (top, left, height, width) = image.shape[:2], box
        top, height = _scaled(top, height, full[0], shape[0])
        left, width = _scaled(left, width, full[1], shape[1])
        # Torch resizes contiguous images faster, and warns of read-only ones.
        part = np.require(image[top : top + height, left : left + width], requirements=('C', 'W'))
        part = torch.from_numpy(part).permute(2, 0, 1)[None]
        # Bilinear: at most one level from Pillow's resize. Bicubic: two, but 10 in a few pixels of photos if the crop
        # is higher than wide, since Pillow 13 then resizes vertically first.
        resized = functional.interpolate(part, self.size, mode=self._crop.interpolation, antialias=True)
        down, across = full[0] / shape[0], full[1] / shape[1]
        return {
            **results,
            'img': resized[0].permute(1, 2, 0).numpy(),
            'img_shape': (*self.size, 3),
            'crop_box': (top * down, left * across, height * down, width * across),
        }


def full_shape(results: dict) -> tuple[int, int]:
    """Return (height, width) of an image, also if it was decoded at a fraction of this size."""
    shape: tuple[int, int] = results.get('full_shape', results['img'].shape[:2])
    return shape


def _scaled(begin: int, length: int, full: int, now: int) -> tuple[int, int]:
    """Return begin and length, in whole pixels, of an interval in a line that is resized from ``full`` to ``now``."""
    if now == full:
        return begin, length
    first = min(round(begin * now / full), now - 1)
    return first, max(1, min(round((begin + length) * now / full), now) - first)
