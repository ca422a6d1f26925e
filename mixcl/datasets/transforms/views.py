"""Transforms that mmcv and mmpretrain lack. Images are uint8 arrays (height, width, 3) in BGR order, unless noted."""

from collections.abc import Callable, Sequence

import numpy as np
from mmcv.transforms import BaseTransform
from mmpretrain.datasets import MultiView
from mmpretrain.datasets import RandomErasing as ClippedErasing

from mixcl.datasets.transforms.decoding import WHITE, read_image
from mixcl.errors import UserError
from mixcl.randomness import seed_global_generators
from mixcl.registry import TRANSFORMS

# Principal components (columns) of ImageNet's colours, in RGB order, and their deviations for values to 255.
COLOUR_COMPONENTS = ((-0.5675, 0.7192, 0.4009), (-0.5808, -0.0045, -0.8140), (-0.5836, -0.6948, 0.4203))
COLOUR_DEVIATIONS = (55.4625, 4.7940, 1.1475)


@TRANSFORMS.register_module()
class KeyedMultiView(MultiView):
    """Several views of an image; the draws of view v are a function of the sample's key and v.

    Takes mmpretrain's arguments ``transforms`` (one pipeline per kind of view) and ``num_views`` (how many of each).
    Without a ``sample_key`` in the results (outside :class:`KeyedDataset`) the views draw from the global generators
    as they are.
    """

    def transform(self, results: dict) -> dict:
        """Replace ``img`` by the list of its views."""
        views = []
        for number, pipeline in enumerate(self.transforms):
            if results.get('sample_key') is not None:
                seed_global_generators(*results['sample_key'], 'view', number)
            # A deep copy of everything, as in the base class, would cost more than some of the transforms.
            views.append(pipeline({**results, 'img': results['img'].copy()}))
        return self.combined(results, views)

    def combined(self, results: dict, views: Sequence[dict]) -> dict:
        """Join the results of the views."""
        return {**results, 'img': [view['img'] for view in views]}


@TRANSFORMS.register_module()
class LoadImage(BaseTransform):
    """Transform that reads a file of any common format, depth and colour model as 8-bit BGR, upright by its EXIF tag.

    Animations give their first frame; images with transparency are composited on the background. Results that already
    hold an ``img`` (data sets in memory) pass unchanged. For images within other files, results have a function
    ``read_bytes`` that returns the content, and ``img_path`` is a name for messages.

    Args:
        background: red, green and blue, 0 to 255; by default white.

    Raises:
        UserError: if ``background`` is no colour.
        UnreadableImage: if the file cannot be opened or decoded, or is far too large.
    """

    def __init__(self, background: Sequence[int] = WHITE) -> None:
        values = tuple(background) if isinstance(background, list | tuple) else ()
        if len(values) != 3 or not all(type(value) is int and 0 <= value <= 255 for value in values):
            raise UserError(
                f'LoadImage: background must be red, green and blue, whole numbers from 0 to 255, not {background!r}'
            )
        self.background = values

    def transform(self, results: dict, read: Callable[..., tuple] = read_image) -> dict:
        """Add ``img``, ``img_shape`` and ``ori_shape``, the latter two as (height, width).

        Args:
            results: with ``img_path``.
            read: reads and decodes like :func:`read_image`; if at reduced size, ``full_shape`` is added.

        Returns:
            The results, with an :class:`ImageNote` as ``conversion`` if the file held no 8-bit colour image.
        """
        if 'img' in results:
            return results
        image, note, full = read(results, background=self.background)
        found = dict(img=image, img_shape=image.shape[:2], ori_shape=full)
        found |= {} if full == image.shape[:2] else dict(full_shape=full)
        return {**results, **found, **({} if note is None else dict(conversion=note))}


@TRANSFORMS.register_module()
class RGBToBGR(BaseTransform):
    """Conversion of an RGB array in memory (CIFAR) to BGR, the order of all pipelines and data preprocessors."""

    def transform(self, results: dict) -> dict:
        return {**results, 'img': np.ascontiguousarray(results['img'][..., ::-1])}


@TRANSFORMS.register_module()
class ColourNoise(BaseTransform):
    """One random colour added to the whole image, drawn as ImageNet's colours vary (AlexNet's "lighting").

    mmpretrain's ``Lighting`` converts the image to RGB or takes the colour for BGR, and wraps around at 0 and 255.
    Here the order stays BGR, and ``img`` becomes float32, which may leave [0, 255]: nothing is clipped.

    Args:
        deviation: standard deviation of each principal component's share.

    Source: Krizhevsky et al., ImageNet classification with deep convolutional neural networks, 2012, section 4.1.
    """

    def __init__(self, deviation: float = 0.1) -> None:
        self.deviation = deviation

    def transform(self, results: dict) -> dict:
        shares = np.random.normal(0, self.deviation, 3)
        colour = np.array(COLOUR_COMPONENTS) @ (shares * COLOUR_DEVIATIONS)
        return {**results, 'img': results['img'].astype(np.float32) + colour[::-1].astype(np.float32)}


@TRANSFORMS.register_module()
class RandomErasing(ClippedErasing):
    """mmpretrain's ``RandomErasing`` with noise that is neither rounded nor clipped: ``img`` becomes float32, which may
    leave [0, 255].

    timm, with which DeiT, PatchMix and APS fine-tune, draws the noise after normalisation, where nothing clips it.

    Args:
        **kwargs: of ``mmpretrain.RandomErasing``; ``fill_color`` and ``fill_std`` are mean and deviation of the noise.
    """

    def transform(self, results: dict) -> dict:
        return super().transform({**results, 'img': results['img'].astype(np.float32)})

    def _fill_pixels(self, img: np.ndarray, top: int, left: int, height: int, width: int) -> np.ndarray:
        img[top : top + height, left : left + width] = np.random.normal(
            self.fill_color, self.fill_std, (height, width, 3)
        )
        return img
