"""The size of a config's images: of its views, of the images that it evaluates on, and of its model."""

from collections.abc import Iterator, Mapping, Sequence

from mmengine.config import Config

from mixcl.recipes.paths import holder_of_backbone, kind_of, walk

EDGES = ('Resize', 'ResizeEdge', 'ResizeShortestEdge')
"""Transforms whose output is cropped afterwards; its size need not be a multiple of the patches."""


def crop_sizes(node: object) -> list[int]:
    """List the larger side of every crop below a part of a config."""
    return [max(_pair(transform[name])) for transform, name in _sizes(node) if kind_of(transform) not in EDGES]


def image_size(cfg: Config) -> int | tuple[int, int]:
    """Return the side of the evaluated images in pixels, or (height, width) if they are not square.

    This is the last crop or resize of their pipeline. Without one it is the image size of the config's backbone, else
    that of the last crop or resize in training, else 224.
    """
    tested = _last_size(cfg.get('test_dataloader') or cfg.get('val_dataloader'))
    own = holder_of_backbone(cfg.model)['backbone'].get('img_size')
    size = tested or own or _last_size(cfg.get('train_dataloader')) or 224
    height, width = (size, size) if isinstance(size, int) else size
    return height if height == width else (height, width)


def _last_size(loader: Mapping | None) -> tuple[int, ...] | None:
    pipelines = [node['pipeline'] for _, node in walk(loader or {}) if isinstance(node, Mapping) and 'pipeline' in node]
    sizes = [output_size(step) for step in (pipelines[-1] if pipelines else [])]
    return next((size for size in reversed(sizes) if size), None)


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
