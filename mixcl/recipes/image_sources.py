"""Configs of the images whose features are extracted: those of a folder, or of a config's data set."""

from collections.abc import Mapping, Sequence
from typing import Any

from mmengine.config import Config

from mixcl.errors import UserError
from mixcl.recipes.data_roots import check_data_roots
from mixcl.recipes.own_data import reader_of, source_config
from mixcl.recipes.paths import innermost, kind_of
from mixcl.recipes.pipelines import READERS, centred
from mixcl.recipes.sizes import EDGES, crop_sizes


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


def image_pipeline(config: Config, image_size: int | None = None) -> list[dict[str, Any]]:
    """Return the pipeline that prepares image files for the backbone of a config.

    By default it is that by which the config tests (else validates). If it does not crop, a centre crop is added, after
    a resize if there is none: photos, unlike digits, are neither square nor small. For an ``image_size``, or the size
    that the config trains on if it tests nothing, the short edge is resized to 256/224 of this size and the centre
    cropped, as the papers do.

    Raises:
        UserError: if the config has no images, and no size is given.
    """
    loader = config.get('test_dataloader') or config.get('val_dataloader')
    load = reader_of(config)
    size = image_size or max(crop_sizes(config.get('train_dataloader')), default=None)
    if image_size is None and loader:
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
