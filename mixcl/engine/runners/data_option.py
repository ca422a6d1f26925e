"""People's own images in the place of those that a config names (``--data``)."""

import os
from collections.abc import Mapping
from typing import Any

from mmengine.config import Config, ConfigDict
from mmengine.registry import DefaultScope

from mixcl.datasets.own_images import Survey
from mixcl.errors import UserError
from mixcl.registry import DATASETS

KINDS = dict(folder='FolderImages', list='ListedImages', hf='HuggingFaceImages', tar='TarImages')
FORMS = 'folder:PATH, list:PATH.csv (or .txt), hf:PATH or tar:PATTERN'
READERS = ('LoadImage', 'RGBToBGR', 'LoadImageFromFile')


def source_config(spec: str, data_root: str | None = None) -> dict[str, Any]:
    """The config of the data set that ``--data`` asks for, without split and pipeline.

    Args:
        spec: such as 'folder:photos', or 'hf:photos,image=picture,label=kind', where the last two name columns.
        data_root: what the paths of a list are relative to; by default its folder.

    Raises:
        UserError: if it is none of these.
    """
    kind, colon, place = spec.partition(':')
    place, *columns = place.split(',') if kind == 'hf' else [place]
    settings = dict(column.partition('=')[::2] for column in columns)
    if kind not in KINDS or not place or not settings.keys() <= {'image', 'label'} or not all(settings.values()):
        hint = f'; did you mean folder:{spec}?' if not colon and os.path.isdir(spec) else ''
        raise UserError(f'--data {spec} is none of {FORMS}{hint}')
    if kind == 'list':
        settings['data_root'] = data_root or ''
    elif data_root:
        raise UserError(f'--data-root {data_root}: with --data it is for lists, whose paths are relative to it')
    return dict(type=f'mixcl.{KINDS[kind]}', source=os.path.abspath(os.path.expanduser(place)), **settings)


def survey(images: Mapping[str, Any]) -> Survey:
    """Count what a config of :func:`source_config` finds.

    Raises:
        UserError: if it cannot be read.
    """
    with DefaultScope.overwrite_default_scope('mixcl'):
        return DATASETS.build({**images, 'lazy_init': True}).survey()


def use_data(cfg: Config, spec: str, data_root: str | None = None) -> str:
    """Let a config train on other images, in place; its views stay, and validation too if the images have labels.

    Pretraining sees no labels. kNN votes among the labelled images of the training part and tests the others; without
    labels, validation and test are taken out. A classifier gets as many outputs as there are classes.

    Args:
        cfg: of a training.
        spec, data_root: as for :func:`source_config`.

    Returns:
        A sentence that says what was found.

    Raises:
        UserError: if the images cannot be read, the config is not one of image-wise training, or a classifier is to be
            trained without labels.
    """
    images = source_config(spec, data_root)
    if not cfg.get('train_dataloader') or cfg.get('default_scope') == 'mmdet':
        raise UserError(f'--data {spec} is for pretraining and for classifiers, which this config does not train')
    found = survey(images)
    head = (cfg.get('model') or {}).get('head') or {}
    if 'num_classes' in head:
        if not found.classes:
            raise UserError(f'--data {spec}: the config trains a classifier, but there are {found}')
        head['num_classes'] = len(found.classes)
        for place in (cfg.get('data_preprocessor') or {}, cfg.model.get('data_preprocessor') or {}):
            place.update({'num_classes': len(found.classes)} if 'num_classes' in place else {})
    _replace(cfg.train_dataloader, images, 'train' if 'num_classes' in head else 'pretrain')
    for part in ('val', 'test'):
        if not found.classes:
            cfg[f'{part}_dataloader'] = cfg[f'{part}_cfg'] = cfg[f'{part}_evaluator'] = None
        elif cfg.get(f'{part}_dataloader'):
            _replace(cfg[f'{part}_dataloader'], images, 'test')
            if cfg[f'{part}_cfg'].get('bank_dataloader'):
                _replace(cfg[f'{part}_cfg'].bank_dataloader, images, 'train')
    if found.classes and not cfg.get('val_dataloader'):
        return f'{spec}: {found}; this config has no kNN, those named _in1k have'
    return f'{spec}: {found}'


def _replace(loader: ConfigDict, images: Mapping[str, Any], split: str) -> None:
    outer = inner = loader.dataset
    while 'dataset' in inner:
        inner = inner.dataset
    settings = outer if str(outer.type).rpartition('.')[2] == 'KeyedDataset' else dict(type='mixcl.KeyedDataset')
    new = dict(**images, split=split, pipeline=read_from_files(inner.pipeline))
    loader.dataset = ConfigDict({**settings, 'dataset': new})


def read_from_files(pipeline: list) -> list:
    """A pipeline, for images in files: those in memory are RGB and need no reading."""
    kinds = [str(step['type']).rpartition('.')[2] for step in pipeline]
    if 'LoadImage' in kinds:
        return pipeline
    steps = [step for step, kind in zip(pipeline, kinds, strict=True) if kind not in READERS]
    return [dict(type='LoadImage'), *steps]
