"""Transforms that mmcv and mmpretrain lack. Images are uint8 arrays (height, width, 3) in BGR order, unless told."""

from collections.abc import Callable, Sequence
from functools import partial
from itertools import pairwise

import numpy as np
from mmcv.transforms import BaseTransform, Compose, LoadImageFromFile
from mmpretrain.datasets import MultiView, PackInputs
from mmpretrain.datasets import RandomErasing as ClippedErasing

from mixcl.datasets.transforms.crops import FastResizedCrop
from mixcl.datasets.transforms.decoding import decode, read_file
from mixcl.datasets.transforms.drawing import DeviceView, pack_programs
from mixcl.randomness import seed_global_generators
from mixcl.registry import TRANSFORMS

# Of the colours of ImageNet, in RGB order: principal components in columns, and their deviations for values to 255.
COLOUR_COMPONENTS = ((-0.5675, 0.7192, 0.4009), (-0.5808, -0.0045, -0.8140), (-0.5836, -0.6948, 0.4203))
COLOUR_DEVIATIONS = (55.4625, 4.7940, 1.1475)


@TRANSFORMS.register_module()
class KeyedMultiView(MultiView):
    """Several views of an image; the draws of view v are a function of the sample's key and v.

    Takes mmpretrain's arguments ``transforms`` (one pipeline per kind of view) and ``num_views`` (how many of each).
    Without a ``sample_key`` in the results (outside :class:`KeyedDataset`) the views draw from the global generators
    as they are.
    """

    device_views: Sequence[DeviceView] = ()

    def use_device(self) -> list[str]:
        """From now on leave the photometry at the end of the pipelines to the device.

        The results must then have a list ``photometry``, to which is appended, as float32 (views, n, 2), what
        :func:`~mixcl.datasets.transforms.photometry.run_programs` is to do.

        Returns:
            The names of other transforms than random resized crops that stay on the CPU.
        """
        views = {id(pipeline): DeviceView(pipeline.transforms) for pipeline in self.pipelines}
        self.device_views = [views[id(pipeline)] for pipeline in self.transforms]
        return sorted({name for view in views.values() for name in view.remaining})

    def reduction(self, results: dict, shape: tuple[int, int]) -> int:
        """By which of 1, 2, 4 and 8 the sides of an image of such a (height, width) can be divided.

        The crops of all views of the results' key then still have as many pixels as they are resized to.
        """
        crops = {('view', number): view.crop for number, view in enumerate(self.device_views) if view.crop is not None}
        return _reduction(crops, results, shape) if len(crops) == len(self.device_views) else 1

    def transform(self, results: dict) -> dict:
        """Replace ``img`` by the list of its views."""
        return {**results, 'img': [view['img'] for view in self.run_views(results)]}

    def run_views(self, results: dict) -> list[dict]:
        """What the pipeline of each view returns."""
        key = results.get('sample_key')
        views = []
        for view, pipeline in enumerate(self.device_views or self.transforms):
            if key is not None:
                seed_global_generators(*key, 'view', view)
            # A deep copy of everything, as in the base class, would cost more than some of the transforms.
            image = results['img'] if self.device_views else results['img'].copy()
            views.append(pipeline({**results, 'img': image}))
        if self.device_views:
            length = max(view.length for view in self.device_views)
            results['photometry'].append(pack_programs([view['program'] for view in views], length))
        return views


class SingleView(BaseTransform):
    """The only view of an image, such as a classifier's, of which the device does the photometry.

    The results must have a list ``photometry``, see :meth:`KeyedMultiView.use_device`.

    Args:
        view: what is done.
        crop: all that the CPU does of it.
    """

    def __init__(self, view: DeviceView, crop: FastResizedCrop) -> None:
        self.view = view
        self.crop = crop

    def reduction(self, results: dict, shape: tuple[int, int]) -> int:
        """Same as :meth:`KeyedMultiView.reduction`, for results of which nothing was drawn yet."""
        factor = _reduction({('sample',): self.crop}, results, shape)
        seed_global_generators(*results['sample_key'], 'sample')  # as if the crop had not been drawn
        return factor

    def transform(self, results: dict) -> dict:
        """Replace ``img`` by the crop."""
        view = self.view(results)
        results['photometry'].append(pack_programs([view.pop('program')], self.view.length))
        return view


def _reduction(crops: dict[tuple, FastResizedCrop], results: dict, shape: tuple[int, int]) -> int:
    """For crops by the names of their draws."""
    key = results.get('sample_key')
    if key is None or min(shape) < 2 * max(max(crop.size) for crop in crops.values()):
        return 1
    ratios = []
    for name, crop in crops.items():
        seed_global_generators(*key, *name)
        ratios += [side // size for side, size in zip(crop.draw(shape)[2:], crop.size, strict=True)]
    return max(factor for factor in (1, 2, 4, 8) if factor <= max(1, min(ratios)))


@TRANSFORMS.register_module()
class LoadImage(LoadImageFromFile):
    """Read a file of any common format, depth and colour model as an 8-bit BGR image, turned upright by its EXIF tag.

    Animations give their first frame, transparency is dropped. Results that hold an ``img`` already (data sets in
    memory) pass unchanged. Where images lie within other files, results have a function ``read_bytes`` that returns the
    content, and ``img_path`` is a name for messages.

    Args:
        backend_args: mmengine's file backend; by default the local file system.

    Attributes:
        reduction: tells for the results and a (height, width) by what the sides of a photo may be divided; None for 1.

    Raises:
        UnreadableImage: if the file cannot be opened or decoded, or is far too large.
    """

    def __init__(self, backend_args: dict | None = None) -> None:
        super().__init__(color_type='color', imdecode_backend='cv2', backend_args=backend_args)
        self.reduction: Callable[[dict, tuple[int, int]], int] | None = None

    def transform(self, results: dict) -> dict:
        """Add ``img``, ``img_shape`` and ``ori_shape``, the latter two as (height, width).

        A photo much larger than what follows needs is decoded at a fraction of its size; ``full_shape`` tells it.
        The note of a conversion (see :func:`~mixcl.datasets.transforms.decoding.decode`) is appended to the list
        ``conversions``, if the results have one.
        """
        if 'img' in results:
            return results
        path = results['img_path']
        content = read_file(path, self.backend_args, results.get('read_bytes'))
        image, note, full = decode(content, path, self.reduction and partial(self.reduction, results))
        if note is not None and 'conversions' in results:
            results['conversions'].append(note)
        shapes = dict(img_shape=image.shape[:2], ori_shape=full)
        return {**results, 'img': image, **shapes, **({} if full == image.shape[:2] else {'full_shape': full})}


@TRANSFORMS.register_module()
class RGBToBGR(BaseTransform):
    """Turn an RGB array in memory (CIFAR) to BGR, the order of all pipelines and of the data preprocessors."""

    def transform(self, results: dict) -> dict:
        """Reverse the last axis of ``img``."""
        return {**results, 'img': np.ascontiguousarray(results['img'][..., ::-1])}


@TRANSFORMS.register_module()
class ColourNoise(BaseTransform):
    """Add one random colour to the whole image, drawn as the colours of ImageNet vary (AlexNet's "lighting").

    mmpretrain's ``Lighting`` turns the image to RGB order or takes the colour for BGR, and wraps around at 0 and 255.
    Here the order stays BGR, and ``img`` becomes float32, which may leave [0, 255]: nothing is clipped.

    Args:
        deviation: of the share of each principal component.

    Source: Krizhevsky et al., ImageNet classification with deep convolutional neural networks, 2012, section 4.1.
    """

    def __init__(self, deviation: float = 0.1) -> None:
        self.deviation = deviation

    def transform(self, results: dict) -> dict:
        """Change ``img``."""
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
        """Change ``img``."""
        return super().transform({**results, 'img': results['img'].astype(np.float32)})

    def _fill_pixels(self, img: np.ndarray, top: int, left: int, height: int, width: int) -> np.ndarray:
        img[top : top + height, left : left + width] = np.random.normal(
            self.fill_color, self.fill_std, (height, width, 3)
        )
        return img


def use_device(pipeline: Compose) -> list[str]:
    """Let the views of a pipeline be finished on the device, see :meth:`KeyedMultiView.use_device`.

    Pipelines without several views are changed where all steps from a random resized crop to the packing are known to
    the device. Photos that are loaded right before are decoded no larger than the views need.
    """
    steps, remaining = pipeline.transforms, []
    crop = next((place for place, step in enumerate(steps) if FastResizedCrop.replaces(step)), None)
    if crop is not None and isinstance(steps[-1], PackInputs):
        view = DeviceView(steps[crop:-1])
        if view.crop is not None:
            steps[crop:-1] = [SingleView(view, view.crop)]
    for before, step in pairwise([None, *steps]):
        if isinstance(step, KeyedMultiView):
            remaining += step.use_device()
        if isinstance(step, KeyedMultiView | SingleView) and isinstance(before, LoadImage):
            before.reduction = step.reduction
    return remaining
