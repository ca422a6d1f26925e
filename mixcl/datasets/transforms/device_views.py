"""Views whose geometry is done by a worker, and whose photometry by the device."""

from collections.abc import Callable, Sequence
from functools import cache, partial
from typing import Any

import numpy as np
import torch
from mmcv.transforms import BaseTransform
from mmpretrain.datasets import PackInputs

from mixcl.datasets.transforms.crops import FastResizedCrop, full_shape
from mixcl.datasets.transforms.drawing import DeviceView, Drawn
from mixcl.datasets.transforms.photo_cache import PhotoCache
from mixcl.datasets.transforms.views import KeyedMultiView, LoadImage
from mixcl.randomness import seed_global_generators


class DeviceViews(BaseTransform):
    """Transform that loads an image, crops its views, and draws the photometry for the device.

    Args:
        views: steps of each view.
        whole: the step that these views replace; None for the only view of a classifier, which draws from the global
            generators as they are.
        load: the step right before if a ``LoadImage``, else None; it decodes photos no larger than the views need.
    """

    def __init__(self, views: Sequence[DeviceView], whole: KeyedMultiView | None, load: LoadImage | None) -> None:
        self.views = views
        self.whole = whole
        self.load = load
        crops = [view.crop for view in views if view.crop is not None]
        self.crops = crops if load is not None and len(crops) == len(views) else []  # if nothing else sees the image
        self.copies = PhotoCache(self.crops) if self.crops else None

    def transform(self, results: dict) -> dict:
        """Replace ``img`` by the views, and add ``photometry``, float32 (views, n, 2): the programs for
        :func:`~mixcl.datasets.transforms.photometry.run_programs`."""
        loaded, views = self.drawn(results)
        programs = np.zeros((len(views), max(view.length for view in self.views), 2), dtype=np.float32)
        for rows, view in zip(programs, views, strict=True):  # the rest are Operation.NOTHING
            if program := view.pop('program'):
                rows[: len(program)] = program
        made = views[0] if self.whole is None else self.whole.combined(loaded, views)
        return {**made, 'photometry': torch.from_numpy(programs)}

    def drawn(self, results: dict) -> tuple[dict, list[dict]]:
        """Return the results with the loaded image, and each view's results with its ``program``."""
        key = results['sample_key']
        if self.copies is not None and self.load is not None:
            draw = cache(partial(self._draws, key))
            results = self.load.transform(results, partial(self.copies.read, reduction=partial(self._reduction, draw)))
            drawn = draw(full_shape(results))
            return results, [view.made(results, each) for view, each in zip(self.views, drawn, strict=True)]
        if self.load is not None:
            results = self.load.transform(results)
        views = []
        for number, view in enumerate(self.views):
            if self.whole is not None:
                seed_global_generators(*key, 'view', number)
            views.append(view(results))
        return results, views

    def _draws(self, key: Sequence[int], shape: tuple[int, int]) -> list[Drawn]:
        """Draw all views of an image of this (height, width)."""
        drawn = []
        for number, view in enumerate(self.views):
            seed_global_generators(*key, *(('sample',) if self.whole is None else ('view', number)))
            drawn.append(view.drawn(shape))
        return drawn

    def _reduction(
        self,
        draw: Callable[[tuple[int, int]], list[Drawn]],
        shape: tuple[int, int],
        full: tuple[int, int] | None = None,
    ) -> int:
        """Return the factor, 1, 2, 4 or 8, by which a JPEG of this (height, width) may be shrunk while decoding.

        The crops then still have as many pixels as they are resized to. ``draw`` draws them; ``full`` is the photo's
        (height, width) if the JPEG is its copy.
        """
        if min(shape) < 2 * max(max(crop.size) for crop in self.crops):
            return 1
        full, ratios = full or shape, []
        for crop, (box, _) in zip(self.crops, draw(full), strict=True):
            sides = zip(box[2:], shape, full, crop.size, strict=True)
            ratios += [drawn * now // (before * size) for drawn, now, before, size in sides]
        return max(factor for factor in (1, 2, 4, 8) if factor <= max(1, min(ratios)))


def device_steps(steps: Sequence[Any]) -> list[Any]:
    """Leave to the device the steps of a pipeline that it can do.

    :class:`DeviceViews` replace a ``KeyedMultiView``, or all steps from a random resized crop to the packing if the
    device can do them. They also replace a ``LoadImage`` right before.
    """
    place, view = next(
        ((place, step) for place, step in enumerate(steps) if isinstance(step, KeyedMultiView)), (0, None)
    )
    if view is not None:
        kinds = {id(pipeline): DeviceView(pipeline.transforms) for pipeline in view.pipelines}
        views, end = [kinds[id(pipeline)] for pipeline in view.transforms], place + 1
    else:
        place = next((place for place, step in enumerate(steps) if FastResizedCrop.replaces(step)), len(steps))
        views, end = [DeviceView(steps[place:-1])], len(steps) - 1
        if views[0].crop is None or not isinstance(steps[-1], PackInputs):
            return list(steps)
    load = steps[place - 1] if place and isinstance(steps[place - 1], LoadImage) else None
    return [*steps[: place - (load is not None)], DeviceViews(views, view, load), *steps[end:]]
