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
    """mmpretrain's ``RandomResizedCrop``, same arguments and draws, that leaves its box in the results."""

    def transform(self, results: dict) -> dict:
        """Replace ``img`` by a crop; add ``crop_box``, (top, left, height, width) in pixels of the incoming image."""
        return {**super().transform(results), 'crop_box': self._box}

    def rand_crop_params(self, img: np.ndarray) -> tuple[int, int, int, int]:
        self._box = super().rand_crop_params(img)
        return self._box


class FastResizedCrop(BaseTransform):
    """Equals one of the other crops, with the same draws, in half the time.

    The image may have been decoded at a fraction of its ``full_shape`` (height, width), for which the box is drawn.

    Args:
        crop: one that :meth:`replaces` accepts.

    Attributes:
        size: (height, width) of the views.
    """

    def __init__(self, crop: RandomResizedCrop) -> None:
        self.size = tuple(crop.scale)
        self._crop = crop

    @staticmethod
    def replaces(transform: Any) -> bool:
        """Whether a transform is such a crop with Pillow's bilinear or bicubic interpolation."""
        return (
            type(transform) in (RandomResizedCrop, RecordedResizedCrop)
            and transform.backend == 'pillow'
            and transform.interpolation in ('bilinear', 'bicubic')
        )

    @property
    def pixels(self) -> float:
        """So many pixels an image needs for its smallest crop to have as many as it is resized to."""
        (height, width), (least, most) = self.size, self._crop.aspect_ratio_range
        return max(width**2 / least, height**2 * most) / max(self._crop.crop_ratio_range[0], 1e-6)

    def draw(self, shape: tuple[int, int]) -> tuple[int, int, int, int]:
        """A box (top, left, height, width) in an image of such a (height, width)."""
        return self._crop.rand_crop_params(SimpleNamespace(shape=shape))  # all that it reads

    def transform(self, results: dict) -> dict:
        """Replace ``img``, uint8 (h, w, 3), by the crop; ``crop_box`` is where in the full image its pixels lie."""
        image = results['img']
        shape, full = image.shape[:2], results.get('full_shape', image.shape[:2])
        top, left, height, width = self.draw(full)
        top, height = _scaled(top, height, full[0], shape[0])
        left, width = _scaled(left, width, full[1], shape[1])
        # Torch resizes faster what lies in one piece, and warns of images that are not to be written to.
        part = np.require(image[top : top + height, left : left + width], requirements=('C', 'W'))
        part = torch.from_numpy(part).permute(2, 0, 1)[None]
        # Bilinear: at most a level from Pillow's resize. Bicubic: 2, and 10 in a few pixels of photos where Pillow 13
        # goes vertically first, in crops that are higher than wide.
        resized = functional.interpolate(part, self.size, mode=self._crop.interpolation, antialias=True)
        down, across = full[0] / shape[0], full[1] / shape[1]
        return {
            **results,
            'img': resized[0].permute(1, 2, 0).numpy(),
            'img_shape': (*self.size, 3),
            'crop_box': (top * down, left * across, height * down, width * across),
        }


def _scaled(begin: int, length: int, full: int, now: int) -> tuple[int, int]:
    """Begin and length, in whole pixels, of an interval of a line of ``full`` pixels in one of ``now``."""
    if now == full:
        return begin, length
    first = min(round(begin * now / full), now - 1)
    return first, max(1, min(round((begin + length) * now / full), now) - first)
