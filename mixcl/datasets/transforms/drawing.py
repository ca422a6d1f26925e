"""The pipeline of a view, split into what the CPU does (geometry) and numbers for the device (photometry).

The transforms stay as the config describes them, and draw their numbers themselves, in their order. So a key gives the
same view, up to rounding, whether the transforms or the device do the work.
"""

import random
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from mmcv.transforms import Compose, RandomApply, RandomFlip, RandomGrayscale
from mmpretrain.datasets import ColorJitter, GaussianBlur, Solarize

from mixcl.datasets.transforms.crops import FastResizedCrop
from mixcl.datasets.transforms.photometry import Operation
from mixcl.errors import UserError

Program = list[tuple[Operation, float]]
"""What the device does to a view, in order, each with its number, such as a factor."""

Drawn = tuple[tuple[int, int, int, int], Program]
"""Box and program of a view."""

GRAY_WEIGHTS = (0.114, 0.587, 0.2989)
"""Weights of blue, green and red."""


class DeviceView:
    """The pipeline of a view whose last steps are left to the device.

    Args:
        transforms: steps of the view.

    Attributes:
        crop: the random resized crop, if the CPU does nothing else, or None.
        length: number of rows of the longest program that can be drawn.
        remaining: names of the transforms that the CPU runs unchanged.
    """

    def __init__(self, transforms: Sequence[Any]) -> None:
        lengths = [program_length(transform) for transform in transforms]
        first = max((place + 1 for place, length in enumerate(lengths) if length is None), default=0)
        geometry = [FastResizedCrop(step) if FastResizedCrop.replaces(step) else step for step in transforms[:first]]
        self.crop = geometry[0] if len(geometry) == 1 and isinstance(geometry[0], FastResizedCrop) else None
        self.length = sum(length or 0 for length in lengths[first:])
        self.remaining = [type(step).__name__ for step in geometry if not isinstance(step, FastResizedCrop)]
        self._of_colours = sorted({name for transform in transforms[first:] for name in colour_steps(transform)})
        self._geometry = Compose(geometry)
        self._photometry = transforms[first:]

    def __call__(self, results: dict) -> dict:
        """Do the geometry and draw the rest: add ``program``, and ``flip`` if the view is to be mirrored."""
        results = self._geometry({**results, 'img': results['img'].copy()})  # transforms may work in place
        return self._with_program(results, self._program())

    def drawn(self, shape: tuple[int, int]) -> Drawn:
        """Draw a crop and the rest for an image of this (height, width), if there is no other geometry."""
        assert self.crop is not None
        return self.crop.draw(shape), self._program()

    def made(self, results: dict, drawn: Drawn) -> dict:
        """Return what a call returns, with what is :meth:`drawn`."""
        assert self.crop is not None
        box, program = drawn
        return self._with_program(self.crop.cropped(results, box), program)

    def _program(self) -> Program:
        return [row for transform in self._photometry for row in DRAWS[type(transform)](transform)]

    def _with_program(self, results: dict, program: Program) -> dict:
        if self._of_colours and results['img'].shape[2] != 3:
            raise UserError(
                f'saturation, hue and gray are for images of 3 channels, not {results["img"].shape[2]}: leave '
                f'{", ".join(self._of_colours)} out of the steps of the views (ColorJitter may keep brightness and '
                'contrast), as configs/patchmix/vit-s16_folder_4channels.py does'
            )
        mirrored = {'flip': True, 'flip_direction': 'horizontal'} if (Operation.FLIP, 0.0) in program else {}
        return {**results, **mirrored, 'program': program}


def colour_steps(transform: Any) -> list[str]:
    """Return the names of those transforms, this one and any in it, that the device does only on colours."""
    if isinstance(transform, RandomApply):
        return [name for part in transform.transforms for name in colour_steps(part)]
    jitters = isinstance(transform, ColorJitter) and (transform.saturation, transform.hue) != (None, None)
    return [type(transform).__name__] if jitters or isinstance(transform, RandomGrayscale) else []


def program_length(transform: Any) -> int | None:
    """Return the number of rows of a transform's longest program; None if the device cannot do it."""
    match transform:
        case _ if type(transform) not in DRAWS:  # also subclasses, which may do anything
            return None
        case RandomApply():
            lengths = [program_length(part) for part in transform.transforms]
            return None if None in lengths else sum(length or 0 for length in lengths)
        case ColorJitter():
            numbers = transform.brightness, transform.contrast, transform.saturation, transform.hue
            return sum(number is not None for number in numbers) if transform.backend == 'pillow' else None
        case RandomGrayscale():
            usual = np.allclose(np.divide(transform.channel_weights, sum(GRAY_WEIGHTS)), GRAY_WEIGHTS, atol=1e-3)
            return 1 if usual and transform.keep_channels and transform.color_format == 'bgr' else None
        case RandomFlip():
            return 1 if isinstance(transform.prob, float) and transform.direction == 'horizontal' else None
    return 1


# These functions draw the same as the transforms' own methods, which take ten times as long.


def _draw_apply(transform: RandomApply) -> Program:
    chosen = np.random.random_sample() < transform.prob
    return [row for part in transform.transforms for row in DRAWS[type(part)](part)] if chosen else []


def _draw_jitter(transform: ColorJitter) -> Program:
    order, *numbers = transform._rand_params()
    operations = Operation.BRIGHTNESS, Operation.CONTRAST, Operation.SATURATION, Operation.HUE
    return [(operations[place], numbers[place]) for place in order if numbers[place] is not None]


def _draw_gray(transform: RandomGrayscale) -> Program:
    return [(Operation.GRAY, 0.0)] if random.random() < transform.prob else []


def _draw_blur(transform: GaussianBlur) -> Program:
    if np.random.random_sample() > transform.prob:
        return []
    return [(Operation.BLUR, transform.random_magnitude() if transform.radius is None else transform.radius)]


def _draw_solarize(transform: Solarize) -> Program:
    if np.random.random_sample() > transform.prob:
        return []
    return [(Operation.SOLARIZE, transform.random_magnitude() if transform.thr is None else transform.thr)]


def _draw_flip(transform: RandomFlip) -> Program:
    return [(Operation.FLIP, 0.0)] if np.random.random_sample() < transform.prob else []


DRAWS: dict[type, Callable[[Any], Program]] = {
    RandomApply: _draw_apply,
    ColorJitter: _draw_jitter,
    RandomGrayscale: _draw_gray,
    GaussianBlur: _draw_blur,
    Solarize: _draw_solarize,
    RandomFlip: _draw_flip,
}
"""Function that draws the program for the next image, by the type of the transform."""
