"""The images of a config of sections: their size, and the data set and pipeline by which features are extracted."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from mmengine.config import Config

from mixcl.errors import UserError
from mixcl.recipes.data_roots import check_data_roots
from mixcl.recipes.own_data import reader_of, source_config
from mixcl.recipes.paths import holder_of_backbone, innermost, kind_of, walk
from mixcl.recipes.pipelines import READERS, centred

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
    height, width = _pair(tested or own or _last_size(cfg.get('train_dataloader')) or 224)
    return height if height == width else (height, width)


def output_size(transform: Mapping) -> tuple[int, ...] | None:
    """Return the (height, width) of the images that a transform makes; None if it has no size."""
    size = transform.get('crop_size') or transform.get('scale')
    is_turned = kind_of(transform) in ('CenterCrop', 'Resize')  # mmcv's, which count (width, height)
    return (_pair(size)[::-1] if is_turned else _pair(size)) if size else None


def config_images(cfg: Config, split: str) -> dict[str, Any]:
    """Return the config of the data set that a config evaluates ('test'), or of its training images without
    augmentation ('train'; the ``bank_dataloader`` of ``test_cfg``).

    Raises:
        UserError: if the config has no such data set, or the data are missing.
    """
    loader = cfg.get('test_dataloader') if split == 'test' else (cfg.get('test_cfg') or {}).get('bank_dataloader')
    if not loader:
        place = 'test_dataloader' if split == 'test' else 'test_cfg.bank_dataloader, the training images as they are'
        raise UserError(f'`split={split}`: the config has no {place}')
    check_data_roots(Config(dict(test_dataloader=loader)))
    return innermost(loader['dataset'])


def source_images(
    spec: str, config: Config, pipeline: Sequence[Mapping], data_root: str | None = None
) -> dict[str, Any]:
    """Return the config of a data set: the images of a source, prepared by an :func:`image_pipeline`.

    Other arguments and errors are those of :func:`~mixcl.recipes.own_data.source_config`. ``config`` says
    which files of a folder are images.
    """
    return dict(**source_config(spec, data_root, config), pipeline=pipeline, test_mode=True)


def image_pipeline(config: Config, size: int | None = None) -> list[dict[str, Any]]:
    """Return the pipeline that prepares image files for the backbone of a config.

    By default it is that by which the config tests (else validates). If it does not crop, a centre crop is added, after
    a resize if there is none: photos, unlike digits, are neither square nor small. For another ``size``, or the one
    that the config trains on if it tests nothing, the short edge is resized to 256/224 of this size and the centre
    cropped, as the papers do.

    Raises:
        UserError: if the config has no images, and no size is given.
    """
    loader = None if size else config.get('test_dataloader') or config.get('val_dataloader')
    load = reader_of(config)
    size = size or max(crop_sizes(config.get('train_dataloader')), default=None)
    if loader:
        steps = [step for step in innermost(loader['dataset'])['pipeline'] if kind_of(step) not in READERS]
        if size and not any('Crop' in kind_of(step) for step in steps):
            resized = any(kind_of(step) in EDGES for step in steps)
            missing = centred([load], size)[1:-1]
            missing[0]['scale'] = size
            steps[-1:-1] = missing[resized:]
        return [load, *steps]
    if size is None:
        raise UserError('the config of the backbone neither tests images nor trains on crops; give `image_size=PIXELS`')
    return centred([load], size)


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


def _pair(size: int | Sequence[int]) -> tuple[int, ...]:
    return tuple(size) if isinstance(size, Sequence) else (size, size)
