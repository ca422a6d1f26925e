"""The user's own images (``--data folder:PATH``) in place of a data set of ``configs/evaluation/datasets/``."""

import re
from pathlib import Path

from mmengine.config import Config

from mixcl.errors import UserError
from mixcl.recipes.evaluations.recipes import OWN_DATA
from mixcl.recipes.own_data import limit_guesses, reader_of, source_config, survey
from mixcl.recipes.paths import kind_of
from mixcl.recipes.pipelines import centred
from mixcl.recipes.reading import read_config
from mixcl.recipes.sizes import crop_sizes, resize_views

STEPS = 8
"""Minimum number of steps in an epoch; with fewer images, batches are smaller."""


def is_own(data: str) -> bool:
    """Whether this is a source of images, and not the name of a data set."""
    return ':' in data


def short_name(data: str) -> str:
    """Return a name for files: 'folder-photos' for 'folder:/home/me/photos', and the name of a data set as it is."""
    if not is_own(data):
        return data
    kind, _, place = data.partition(':')
    return f'{kind}-{re.sub(r"[^A-Za-z0-9.]+", "-", Path(place).name)[:40]}'


def read_own_data(
    configs: Path, spec: str, protocol: str, pretraining: Config | None, data_root: str | None = None
) -> Config:
    """Return the variables of a data set that :mod:`.composing` lists, and two more.

    ``labelled`` is the number of images to learn from, ``found`` says which ones. Images have the size of those in
    pretraining, if known. Paths of a list are relative to ``data_root``.

    Raises:
        UserError: if the images cannot be read or have no labels, or the protocol brings data of its own.
    """
    if protocol in OWN_DATA:
        raise UserError(f'the protocol {protocol} is not for {spec}; choose {OWN_DATA[protocol][0]} by `data`')
    data = read_config(configs / 'evaluation/_base_/own_images.py')
    data.images = source_config(spec, data_root if spec.startswith('list:') else None, pretraining)
    found = survey(data.images)
    if not found.classes:
        raise UserError(f'`data={spec}`: {protocol} needs labels, but there are {found}; see docs/your_images.md')
    data.num_classes, data.labelled = len(found.classes), found.train
    data.found = f'{found.train} to learn from, {found.test} to test on ({found.digest})'
    load = reader_of(pretraining or {})
    if kind_of(load) != 'LoadImage':  # most steps of classifiers' views are for colours
        _, *steps = data.views.plain.train
        data.views = dict(plain=dict(train=[load, *steps], test=centred([load], data.size)))
    size = max(crop_sizes((pretraining or {}).get('train_dataloader')), default=data.size)
    resize_views(data.views, size / data.size, 1)
    data.resize, data.size = round(data.resize * size / data.size), size
    return data


def fit_to_own_images(cfg: Config, data: Config) -> None:
    """Fit a config to the user's own images, in place.

    Few images make batches smaller, and SGD's learning rate with them. No more guesses count than there are classes.
    The config notes its images, so that results of others are not taken for theirs.
    """
    cfg.protocol.images = data.found
    limit_guesses(cfg, data.num_classes)
    recipe = (cfg.get('auto_scale_lr') or {}).get('base_batch_size')
    images = data.labelled * (cfg.protocol.get('share') or 1)
    if recipe and images < STEPS * recipe:
        batch = max(2, 2 ** (int(images / STEPS).bit_length() - 1))
        cfg.auto_scale_lr.base_batch_size = cfg.train_dataloader.batch_size = batch
        # Adam's steps are as long as the rate, whatever the batch. With few images, smaller steps would teach nothing.
        if 'Adam' not in cfg.optim_wrapper.optimizer.type:
            cfg.optim_wrapper.optimizer.lr *= batch / recipe
