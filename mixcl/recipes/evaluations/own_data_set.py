"""The user's own images (``--data folder:PATH``) in place of a data set with a name."""

import re
from pathlib import Path

from mmengine.config import Config, ConfigDict

from mixcl.errors import UserError
from mixcl.recipes.evaluations.recipes import OWN_DATA
from mixcl.recipes.own_data import reader_of, source_config, survey
from mixcl.recipes.paths import kind_of
from mixcl.recipes.reading import data_file, read_config
from mixcl.recipes.sizes import crop_sizes

STEPS = 8
"""Minimum number of steps in an epoch; with fewer images, batches are smaller."""


def is_own(data: str) -> bool:
    """Whether this is a source of images, and not the name of a data set."""
    return ':' in data


def short_name(data: str) -> str:
    """Return a name for files: 'folder-photos' for 'folder:/home/me/photos', else that of the data set or its file."""
    if not is_own(data):
        return Path(data).stem
    kind, _, place = data.partition(':')
    return f'{kind}-{re.sub(r"[^A-Za-z0-9.]+", "-", Path(place).name)[:40]}'


def read_own_data(spec: str, protocol: str, pretraining: Config | None, data_root: str | None = None) -> Config:
    """Return the facts of a data set, and two more.

    ``labelled`` is the number of images to learn from, ``found`` says which ones. Images have the size of those in
    pretraining, if known. Paths of a list are relative to ``data_root``.

    Raises:
        UserError: if the images cannot be read or have no labels, or the protocol brings data of its own.
    """
    if protocol in OWN_DATA:
        raise UserError(f'the protocol {protocol} is not for {spec}; choose {OWN_DATA[protocol][0]} by `data`')
    facts = read_config(data_file('folder'))
    images = source_config(spec, data_root if spec.startswith('list:') else None, pretraining)
    found = survey(images)
    if not found.classes:
        raise UserError(f'`data={spec}`: {protocol} needs labels, but there are {found}; see docs/your_images.md')
    # One by one: ConfigDict.update would merge them.
    facts.data.images = ConfigDict(images)
    facts.data.splits = ConfigDict(train=dict(split='train'), test=dict(split='test'))
    facts.data.read = [reader_of(pretraining or {})]
    facts.evaluated.classes, facts.labelled = len(found.classes), found.train
    facts.found = f'{found.train} to learn from, {found.test} to test on ({found.digest})'
    if kind_of(facts.data.read[0]) != 'LoadImage':  # most steps of classifiers' views are for colours
        facts.evaluated.views = ConfigDict()
    size = max(crop_sizes((pretraining or {}).get('train_dataloader')), default=facts.data.size)
    facts.data.resize, facts.data.size = round(facts.data.resize * size / facts.data.size), size
    return facts


def fit_to_own_images(cfg: Config, data: Config) -> None:
    """Fit the facts of an evaluation to the user's own images, in place.

    Few images make batches smaller, and SGD's learning rate with them. The protocol notes its images, so that results
    of others are not taken for theirs.
    """
    cfg.protocol.images = data.found
    images, batch = data.labelled * (cfg.protocol.get('share') or 1), cfg.get('batch')
    if batch and images < STEPS * batch:
        cfg.batch = max(2, 2 ** (int(images / STEPS).bit_length() - 1))
        # Adam's steps are as long as the rate, whatever the batch. With few images, smaller steps would teach nothing.
        if 'Adam' in cfg.optimizer.type:
            cfg.optimizer.lr *= batch / cfg.batch
