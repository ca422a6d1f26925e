"""Composition of the facts of an evaluation: a recipe, a variant of it, a data set's changes, and a backbone.

Under ``configs/evaluation/``, a file of ``recipes/`` says how a protocol trains and measures, and names one of the
``views`` of the images. Its ``variants`` are numbers for other backbones and data sets (``recipe_table.variant_of``).
A file of ``configs/_base_/data/`` says the rest: ``data``, and in ``evaluated`` what pretraining does not ask for. The
user's own images (``--data folder:PATH``) take its place.
"""

import copy
import os
import re
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from mmengine.config import Config, ConfigDict

from mixcl.errors import UserError
from mixcl.recipes.data_roots import check_data_roots
from mixcl.recipes.evaluations.adaptation import put_backbone
from mixcl.recipes.facts import FACTS, Evaluated
from mixcl.recipes.images import crop_sizes
from mixcl.recipes.length import STRETCHED, stretch
from mixcl.recipes.overrides import merge
from mixcl.recipes.own_data import reader_of, source_config, suggested_source, survey
from mixcl.recipes.paths import RUNNER_KEYS, kind_of
from mixcl.recipes.reading import data_file, read_config
from mixcl.recipes.recipe_table import NUMBERS, OWN_DATA, family_of, find_recipe, parts_of_name, variant_of
from mixcl.recipes.subject import Subject
from mixcl.recipes.typed import typed
from mixcl.registry import DATASETS, build
from mixcl.shipped import shipped
from mixcl.weights import checked_run

LEAST_STEPS_PER_EPOCH = 8
"""Minimum number of steps in an epoch of the user's own images; with fewer images, batches are smaller."""


def composed(
    subject: Subject,
    protocol: str,
    data: str,
    own_recipe: tuple[Path, Config] | None,
    recipe_name: str | None,
    root: str | None,
    overrides: Mapping[str, Any],
) -> tuple[Path, Config, bool]:
    """Return a recipe's path, its facts with data set and backbone, and whether it is the one of ``recipe_name``.

    ``own_recipe`` may bring its images. What depends on the images follows
    ``overrides`` of their facts.
    """
    if own_recipe and 'data' in own_recipe[1]:
        facts = copy.deepcopy(own_recipe[1])
        use_images(facts, checked_images(own_recipe[1], str(own_recipe[0])), protocol)
        if subject.backbone is not None and protocol != 'robustness':
            put_backbone(facts, subject.backbone, subject.config)
        return own_recipe[0], facts, False
    if is_own(data):
        read = read_own_masks if protocol == 'segment' else read_own_data
        images = read(data, protocol, subject.config, root)
    else:
        images = data_set(data, protocol)
    backbone = subject.backbone or images.evaluated.backbone
    if backbone is None:
        raise UserError(f'{data} names no backbone to evaluate (evaluated.backbone); give one by `config`')
    family, names, name = family_of(backbone), {data, images.evaluated.like}, subject.config_name
    named_row = find_recipe(protocol, names, name, family, recipe_name) if recipe_name and not own_recipe else None
    if own_recipe:
        path, facts, variant, percent = own_recipe[0], copy.deepcopy(own_recipe[1]), {}, None
    else:
        row = named_row or find_recipe(protocol, names, name, family)
        assert row is not None  # the last row of every protocol is for anything
        path, percent = shipped('configs') / f'evaluation/recipes/{row.config}.py', row.percent
        facts = read_config(path)
        variant = variant_of(facts, names, name, percent)
    use_images(facts, images, protocol)
    change(facts, {key: value for key, value in overrides.items() if key.startswith(('data.', 'evaluated.'))})
    complete(facts, variant, family, percent)
    kept = FACTS - {'variants'} | RUNNER_KEYS  # no variables of its bases
    facts = Config({key: facts[key] for key in facts if key in kept})
    if is_own(data):
        fit_to_own_images(facts, images)
    facts.config_name = f'evaluation/{protocol}/{parts_of_name(name)[0] or "any"}_{short_name(data)}_{path.stem}'
    if protocol != 'robustness':
        put_backbone(facts, backbone, subject.config)
    if viewed := pretraining_views(subject) if protocol == 'quality' else None:
        facts.test_cfg.lidar.dataset = viewed
    return path, facts, named_row is not None


def is_own(data: str) -> bool:
    """Whether this is a source of images, and not the name of a data set."""
    return ':' in data


def short_name(data: str) -> str:
    """Return a name for files: 'folder-photos' for 'folder:/home/me/photos', else that of the data set or its file."""
    if not is_own(data):
        return Path(data).stem
    kind, _, place = data.partition(':')
    return f'{kind}-{re.sub(r"[^A-Za-z0-9.]+", "-", Path(place).name)[:40]}'


def data_set(name: str, protocol: str) -> Config:
    """Return the config of a data set by name; raises UserError if there is none, or it is not for the protocol."""
    others = OWN_DATA.get(protocol)
    if name in (others or [name]):
        try:
            found = read_config(data_file(name))
        except UserError as error:
            raise UserError(f'{error}{suggested_source(name)}') from error
        if protocol in (checked_images(found, name).evaluated.protocols or [protocol]):
            return found
    raise UserError(
        f'the protocol {protocol} is not for the data set {name}; choose {" or ".join(others or ["another"])} by `data`'
    )


def checked_images(config: Config, name: str) -> Config:
    """Return a config that says data, and what evaluations ask beside; raises UserError if it does not."""
    for fact in ('data', 'evaluated'):
        if not isinstance(config.get(fact), Mapping):
            raise UserError(f'{name} says no {fact}, which must be a dict: see docs/evaluation.md')
    typed(Evaluated, config.evaluated, 'evaluated')
    return config


def read_own_data(spec: str, protocol: str, pretraining: Config | None, data_root: str | None = None) -> Config:
    """Return the facts of the user's own images, and two more.

    ``labelled`` is the number of images to learn from, ``counts`` says how many images of which part
    there are. Images have the size of those in pretraining, if known. Paths of a list are relative to ``data_root``.

    Raises:
        UserError: if the images cannot be read or have no labels, or the protocol brings data of its own.
    """
    if protocol in OWN_DATA:
        raise UserError(f'the protocol {protocol} is not for {spec}; choose {OWN_DATA[protocol][0]} by `data`')
    facts = read_config(data_file('folder'))
    images = source_config(spec, data_root if spec.startswith('list:') else None, pretraining)
    counts = survey(images)
    if not counts.classes:
        raise UserError(f'`data={spec}`: {protocol} needs labels, but there are {counts}; see docs/your_images.md')
    # One by one: ConfigDict.update would merge them.
    facts.data.images = ConfigDict(images)
    facts.data.splits = ConfigDict(train=dict(split='train'), test=dict(split='test'))
    facts.data.read = [reader_of(pretraining or {})]
    facts.evaluated.classes, facts.labelled = len(counts.classes), counts.train
    facts.counts = f'{counts.train} to learn from, {counts.test} to test on ({counts.digest})'
    if kind_of(facts.data.read[0]) != 'LoadImage':  # most steps of classifiers' views are for colours
        facts.evaluated.views = ConfigDict()
    size = max(crop_sizes((pretraining or {}).get('train_dataloader')), default=facts.data.size)
    facts.data.resize, facts.data.size = round(facts.data.resize * size / facts.data.size), size
    return facts


def read_own_masks(spec: str, protocol: str, pretraining: Config | None, data_root: str | None = None) -> Config:
    """Return what :func:`read_own_data` does, of a folder of images and masks.

    Raises:
        UserError: if it is no such folder.
    """
    kind, _, folder = spec.partition(':')
    if kind != 'folder':
        raise UserError(f'`data={spec}`: {protocol} needs masks; write folder:PATH, with images/ and masks/ in it')
    facts, folder = read_config(data_file('masks')), os.path.expanduser(folder)
    counts = build(DATASETS, dict(type='MaskedFolder', data_root=folder, lazy_init=True)).survey()
    facts.data.images.update(data_root=folder, classes=counts.classes)
    facts.evaluated.classes, facts.labelled = counts.classes, counts.train
    facts.counts = f'{counts.classes} classes, {counts.train} to learn from, {counts.test} to test on ({counts.digest})'
    facts.data.size = max(crop_sizes((pretraining or {}).get('train_dataloader')), default=facts.data.size)
    return facts


def pretraining_views(subject: Subject) -> ConfigDict | None:
    """Return the config of the images of a pretraining, with its views; None if they are unknown or not there."""
    config = subject.config or Config()
    with suppress(UserError):  # parts that only the user's own config may have
        config = config if subject.named else checked_run(config.to_dict(), subject.checkpoint)
        if 'train_dataloader' in config and config.model.type != 'mmpretrain.ImageClassifier':
            check_data_roots(Config(dict(train_dataloader=config.train_dataloader)))
            return ConfigDict(copy.deepcopy(config.train_dataloader.dataset))
    return None


def use_images(cfg: Config, data: Config, protocol: str) -> None:
    """Put the facts of a data set into those of a recipe, in place."""
    cfg.data, cfg.evaluated = copy.deepcopy(data.data), copy.deepcopy(data.evaluated)
    cfg.steps = {**(data.get('steps') or {}), **(cfg.get('steps') or {})}
    cfg.protocol.name = protocol


def complete(cfg: Config, variant: Mapping[str, Any], family: str, percent: int | None = None) -> None:
    """Set what depends on the variant, the data set and the family of the backbone, in place.

    Small images are enlarged for a ResNet with the stem for large ones. ``semi`` trains on ``percent`` of the labels.
    """
    protocol, data, evaluated = cfg.protocol.name, cfg.data, cfg.evaluated
    change(cfg, {NUMBERS[name]: value for name, value in variant.items()})
    if 'schedule' in cfg and family == 'resnet' and 'enlarged' in evaluated.views:
        cfg.views = 'enlarged'
    if protocol == 'semi':
        percent = percent or 10
        part = dict(list_file=f'{percent}percent.txt') if evaluated.label_lists else dict(share=percent / 100)
        data.update(part)
        cfg.protocol.update(part if evaluated.label_lists else dict(part, seed=0))
    if 'schedule' not in cfg and protocol not in OWN_DATA:
        cfg.protocol.update(resize=data.resize, crop=data.size)
    change(cfg, evaluated.get(protocol) or {})


def change(cfg: Config, changes: Mapping[str, Any]) -> None:
    """Merge changes into the facts of a recipe, in place; another number of epochs stretches the schedule."""
    before = (cfg.get('schedule') or {}).get('epochs')
    merge(cfg, changes)
    if before and not isinstance(cfg.schedule, Mapping):
        raise UserError(f'schedule={cfg.schedule!r} must be a dict')
    said = {*(changes.get('schedule') or {})} | {key.split('.')[1] for key in changes if key.startswith('schedule.')}
    if before and isinstance(cfg.schedule.epochs, int) and not said & {*STRETCHED}:
        stretch(cfg.schedule, before)


def fit_to_own_images(cfg: Config, data: Config) -> None:
    """Fit the facts of an evaluation to the user's own images, in place.

    Few images make batches smaller, and SGD's learning rate with them. The protocol notes its images, so that results
    of others are not taken for theirs.
    """
    cfg.protocol.images = data.counts
    images, batch = data.labelled * (cfg.protocol.get('share') or 1), cfg.get('batch')
    if batch and images < LEAST_STEPS_PER_EPOCH * batch:
        cfg.batch = max(2, 2 ** (int(images / LEAST_STEPS_PER_EPOCH).bit_length() - 1))
        # Adam's steps are as long as the rate, whatever the batch. With few images, smaller steps would teach nothing.
        if cfg.optimizer.type.endswith(('Adam', 'AdamW', 'Muon')):
            cfg.optimizer.lr *= batch / cfg.batch
