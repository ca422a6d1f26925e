"""The size of a config's images: of its views, of the images that it evaluates on, and of its model."""

import math
from collections.abc import Iterator, Mapping, Sequence

from mixcl.recipes.paths import kind_of, walk

EDGES = ('Resize', 'ResizeEdge', 'ResizeShortestEdge')
"""Transforms whose output is cropped afterwards; its size need not be a multiple of the patches."""


def set_model_size(model: dict, size: int | tuple[int, int]) -> None:
    """Set the image size, one side or (height, width), and a decoder's number of patches in a config, in place."""
    for _, part in walk(model):
        if isinstance(part, dict) and 'img_size' in part:
            part['img_size'] = size
        if isinstance(part, dict) and 'num_patches' in part:
            part['num_patches'] = math.prod(side // part['patch_size'] for side in _pair(size))


def resize_views(node: object, scale: float, multiple: int) -> None:
    """Scale every size in the transforms below a part of a config, in place; crops become multiples of ``multiple``."""
    for transform, name in {(id(part), name): (part, name) for part, name in _sizes(node)}.values():
        unit = 1 if kind_of(transform) in EDGES else multiple
        sides = [max(unit, round(side * scale / unit) * unit) for side in _pair(transform[name])]
        transform[name] = tuple(sides) if isinstance(transform[name], Sequence) else sides[0]


def crop_sizes(node: object) -> list[int]:
    """List the larger side of every crop below a part of a config."""
    return [max(_pair(transform[name])) for transform, name in _sizes(node) if kind_of(transform) not in EDGES]


def _sizes(node: object) -> Iterator[tuple[dict, str]]:
    """Yield the dict and the key of every setting of a transform, at any depth, that is an image size in pixels."""
    for _, part in walk(node):
        if isinstance(part, dict) and 'type' in part:
            names = ['scale', 'crop_size', *['input_size'] * (kind_of(part) == 'SimMIMMaskGenerator')]
            yield from ((part, name) for name in names if name in part)


def output_size(transform: Mapping) -> tuple[int, ...] | None:
    """Return the (height, width) of the images that a transform makes; None if it has no size."""
    size = transform.get('crop_size') or transform.get('scale')
    is_turned = kind_of(transform) in ('CenterCrop', 'Resize')  # mmcv's, which count (width, height)
    return (_pair(size)[::-1] if is_turned else _pair(size)) if size else None


def _pair(size: int | Sequence[int]) -> tuple[int, ...]:
    return tuple(size) if isinstance(size, Sequence) else (size, size)
