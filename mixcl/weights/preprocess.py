"""Preprocessing of one image into a model's input."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from mmengine.dataset import Compose
from PIL import Image
from torch import Tensor

from mixcl.datasets.transforms.decoding import WHITE, rgb_of
from mixcl.errors import UserError
from mixcl.registry import MODELS, TRANSFORMS, build

Picture = str | Path | np.ndarray | Image.Image
"""A file name; a uint8 array, (H, W, 3) of RGB or (H, W) of grey values; or an image of Pillow."""


class Preprocess:
    """Preprocessing of one image into a model's input, as in the model's evaluations: resized, cropped, normalised.

    Args:
        pipeline: configs of transforms that end with ``PackInputs``.
        preprocessor: config of the data preprocessor, which normalises.
    """

    def __init__(self, pipeline: Sequence[Mapping], preprocessor: Mapping) -> None:
        self._transforms = Compose([build(TRANSFORMS, step) for step in pipeline])
        self._preprocessor = build(MODELS, preprocessor)
        self._to_rgb = preprocessor.get('to_rgb')
        backgrounds = (getattr(step, 'background', None) for step in self._transforms.transforms)
        self._background = next(filter(None, backgrounds), WHITE)

    def __call__(self, image: Picture) -> Tensor:
        """Return (3, H, W) float32 of an image, RGB; works also as a transform of torchvision's data sets.

        Raises:
            UserError: if ``image`` is no image.
            UnreadableImage: if its file cannot be decoded.
        """
        return self._preprocessor(dict(inputs=self.packed(image)[None]), False)['inputs'][0]

    def packed(self, image: Picture) -> Tensor:
        """Return (3, H, W) of an image as the pipeline packs it, before it is normalised; errors as in a call."""
        if isinstance(image, str | Path):
            results: dict[str, Any] = dict(img_path=str(image))
        else:
            pixels = np.ascontiguousarray(_rgb(image, self._background)[..., ::-1])  # pipelines take BGR
            results = dict(img=pixels, img_shape=pixels.shape[:2], ori_shape=pixels.shape[:2])
        return self._transforms(results)['inputs']

    def shown(self, image: Picture) -> Tensor:
        """Return (3, H, W) in [0, 1] of an image, RGB, as the model gets it before it is normalised."""
        pixels = self.packed(image)
        return (pixels.flip(0) if self._to_rgb and len(pixels) == 3 else pixels).float() / 255


def _rgb(image: Any, background: Sequence[int]) -> np.ndarray:
    """Return an image as (H, W, 3) uint8."""
    if isinstance(image, Image.Image):
        return rgb_of(image, background)
    if isinstance(image, np.ndarray) and image.dtype == np.uint8 and image.size:
        if image.ndim == 2:
            return np.repeat(image[..., None], 3, axis=2)
        if image.ndim == 3 and image.shape[2] == 3:
            return image
    what = f'{image.dtype} array {image.shape}' if isinstance(image, np.ndarray) else type(image).__name__
    raise UserError(
        f'an image is a file name, a Pillow image, or a uint8 array, (H, W, 3) of RGB or (H, W) of grey, not {what}'
    )
