"""Composition of one config from a recipe and a data set; :mod:`.adaptation` adds the backbone.

Under ``configs/evaluation/``, a file of ``recipes/`` says how a protocol trains and measures, and names one of the
``views`` of the images. Its ``variants`` are numbers for other backbones and data sets (:func:`.recipes.variant_of`).
A file of ``datasets/`` has these variables:

    images          config of the data set, without split and pipeline
    splits          settings added for each split, ``dict(train=dict(...), test=dict(...))``
    views           pipelines by name, ``dict(plain=dict(train=[...], test=[...]), ...)``; 'plain' is taken where a
                    recipe's is missing, 'enlarged' to train ResNets with the stem for large images
    resize, size    of images for features, pixels to resize to and to crop, noted beside results
    num_classes
    backbone        evaluated where neither a checkpoint nor a config gives a backbone
    processes       number of processes that the recipes' batches are meant for; 1 by default
    num_workers     workers of each loader; the recipe's by default
    files           whether images are files, some of which may be unreadable; False by default
    normalisation   ``dict(mean=[...], std=[...])`` if it is not ImageNet's
    statistics      mean and std of the images themselves, for recipes with ``statistics = True``
    label_lists     whether there are lists of labelled images, ``1percent.txt``; else ``semi`` draws them
    like            another data set whose recipes are used; by default those for any data set
    protocols       protocols that the data set is for; by default all
    <protocol>      values that differ from the recipe's in that protocol
"""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from mmengine.config import Config

from mixcl.errors import UserError
from mixcl.recipes.evaluations.recipes import OWN_DATA
from mixcl.recipes.own_data import suggested_source
from mixcl.recipes.paths import RUNNER_KEYS, kind_of
from mixcl.recipes.reading import read_config

NUMBERS = dict(
    rate='optim_wrapper.optimizer.lr',
    batch='auto_scale_lr.base_batch_size',
    epochs='train_cfg.max_epochs',
    val_interval='train_cfg.val_interval',
)
"""Settings that a recipe's ``variants`` may change: the learning rate, the images per step that it is for, etc."""


def read_data_set(configs: Path, name: str, protocol: str) -> Config:
    """Read the config of a data set below the folder of all configs.

    Raises:
        UserError: if there is no such data set, or it is not for the protocol.
    """
    folder = configs / 'evaluation/datasets'
    path = folder / f'{name}.py'
    if not path.is_file():
        others = ', '.join(sorted(other.stem for other in folder.glob('*.py')))
        hint = suggested_source(name) or '; choose one, or add a file for it'
        raise UserError(f'there is no data set {name} under {folder}, only {others}{hint}')
    data = read_config(path)
    if protocol not in data.get('protocols', [protocol]) or name not in OWN_DATA.get(protocol, [name]):
        others = ' or '.join(OWN_DATA.get(protocol, ['another']))
        raise UserError(f'the protocol {protocol} is not for the data set {name}; choose {others} by `data`')
    return data


def compose(
    recipe: Config, variant: Mapping[str, Any], data: Config, protocol: str, family: str, percent: int | None = None
) -> Config:
    """Put a data set into a recipe, with the numbers of one of its variants.

    The backbone's ``family`` decides whether small images are enlarged. ``semi`` trains on ``percent`` of the labels.
    """
    parts = recipe.to_dict().items()  # a copy
    cfg = Config({name: value for name, value in parts if name in RUNNER_KEYS or name == 'protocol'})
    cfg.protocol.name = protocol
    with keeping_shares(cfg, variant):
        cfg.merge_from_dict({NUMBERS[name]: value for name, value in variant.items()})
    trains = cfg.get('train_cfg') is not None
    view = 'enlarged' if trains and family == 'resnet' and 'enlarged' in data.views else recipe.views
    _set_images(cfg, data, data.views.get(view) or data.views.plain)
    if protocol == 'semi':
        percent = percent or 10
        part: dict[str, Any] = dict(share=percent / 100, seed=0)
        if data.get('label_lists'):
            part = dict(list_file=f'{percent}percent.txt')
        keyed = cfg.train_dataloader.dataset
        keyed.dataset = dict(type='LabelledSubset', **part, dataset=keyed.dataset)
        cfg.protocol.update(part)
    if not trains and protocol not in OWN_DATA:
        cfg.protocol.update(resize=data.resize, crop=data.size)
    if 'num_classes' in cfg.data_preprocessor:
        cfg.data_preprocessor.num_classes = cfg.model.head.num_classes = data.num_classes
    own = data.get('statistics') if recipe.get('statistics') else None
    cfg.data_preprocessor.update(own or data.get('normalisation') or {})
    if protocol in data:
        with keeping_shares(cfg, data[protocol]):
            cfg.merge_from_dict(data[protocol].to_dict())
    return cfg


def keep_batch(cfg: Config, processes: int) -> None:
    """Make all processes together take as many images per step as the recipe's learning rate is for, in place.

    That number is ``auto_scale_lr.base_batch_size``. A process sees at most ``train_dataloader.batch_size`` images at
    once; where the processes are too few for the recipe's batch, gradients are accumulated. Epochs end with a step.
    Accumulation changes batch normalisation in training, whose statistics are those of the images seen at once, and
    Mixup, CutMix and drop path, which draw anew for these images.

    Raises:
        UserError: if the processes cannot share the batch evenly.
    """
    batch = (cfg.get('auto_scale_lr') or {}).get('base_batch_size')
    if batch is None or cfg.get('train_dataloader') is None:
        return
    if batch % processes:
        raise UserError(
            f'{cfg.config_name} trains with batches of {batch} images, which {processes} processes cannot share: '
            'start another number of processes, or choose another batch and its learning rate by `cfg_options` '
            'auto_scale_lr.base_batch_size=... optim_wrapper.optimizer.lr=...'
        )
    cfg.auto_scale_lr.enable = False  # the batch is already what the rate is for
    if kind_of(cfg.train_dataloader.sampler) in ('KeyedSampler', 'RepeatedKeyedSampler'):
        cfg.train_dataloader.sampler.multiple_of = batch
    share = batch // processes
    most = min(cfg.train_dataloader.batch_size, share)
    at_once = next(size for size in range(most, 0, -1) if share % size == 0)
    cfg.train_dataloader.batch_size = at_once
    if at_once < share:
        cfg.optim_wrapper.accumulative_counts = share // at_once


@contextmanager
def keeping_shares(cfg: Config, changes: Iterable[str]) -> Iterator[None]:
    """Keep the milestones and the end of schedules at the same shares of the epochs while the settings named in
    ``changes`` are changed, unless schedules are among them."""
    before = (cfg.get('train_cfg') or {}).get('max_epochs')
    yield
    epochs, schedules = (cfg.get('train_cfg') or {}).get('max_epochs'), cfg.get('param_scheduler') or []
    if not before or not epochs or epochs == before or any(name.startswith('param_scheduler') for name in changes):
        return
    for schedule in [schedules] if isinstance(schedules, Mapping) else schedules:
        if 'milestones' in schedule:  # a milestone at 0 would come before the first step
            schedule.milestones = [max(step * epochs // before, 1) for step in schedule.milestones]
        if schedule.get('end') == before and schedule.get('begin', 0) < epochs:
            schedule.end = epochs


def _set_images(cfg: Config, data: Config, view: Mapping) -> None:
    """Put the data set into all loaders."""
    files: dict | None = {} if data.get('files') else None  # single images may be unreadable
    for loader, split, pipeline, keyed in (
        (cfg.get('train_dataloader'), 'train', 'train', dict(views='device')),
        (cfg.get('val_dataloader'), 'test', 'test', files),
        (cfg.get('test_dataloader'), 'test', 'test', files),
        ((cfg.get('test_cfg') or {}).get('bank_dataloader'), 'train', 'test', files),
    ):
        if loader is not None:
            images = dict(**data.images, **data.splits[split], pipeline=view[pipeline])
            loader.dataset = images if keyed is None else dict(type='KeyedDataset', dataset=images, **keyed)
            loader.num_workers = data.get('num_workers', loader.num_workers)
    if cfg.get('train_dataloader'):
        cfg.train_dataloader.batch_size = cfg.auto_scale_lr.base_batch_size // data.get('processes', 1)
