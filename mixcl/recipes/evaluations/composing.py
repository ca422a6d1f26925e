"""Composition of the facts of an evaluation: a recipe, a variant of it, a data set's changes, and a backbone.

Under ``configs/evaluation/``, a file of ``recipes/`` says how a protocol trains and measures, and names one of the
``views`` of the images. Its ``variants`` are numbers for other backbones and data sets (:func:`.recipes.variant_of`).
A file of ``configs/_base_/data/`` says the rest: ``data``, and in ``evaluated`` what pretraining does not ask for.
"""

import copy
from collections.abc import Mapping
from typing import Any

from mmengine.config import Config, ConfigDict

from mixcl.errors import UserError
from mixcl.recipes.evaluations.recipes import NUMBERS, OWN_DATA, PROTOCOLS
from mixcl.recipes.facts import Data, Evaluated
from mixcl.recipes.length import STRETCHED, stretch
from mixcl.recipes.overrides import merge
from mixcl.recipes.own_data import suggested_source
from mixcl.recipes.reading import data_file, read_config, steps_of
from mixcl.recipes.typed import check_keys, typed, with_defaults


def data_set(name: str, protocol: str) -> Config:
    """Return the config of a data set by name; raises UserError if there is none, or it is not for the protocol."""
    if name not in OWN_DATA.get(protocol, [name]):
        raise not_for(protocol, name)
    try:
        found = read_config(data_file(name))
    except UserError as error:
        raise UserError(f'{error}{suggested_source(name)}') from error
    if protocol not in (checked_images(found, name).evaluated.get('protocols') or [protocol]):
        raise not_for(protocol, name)
    return found


def checked_images(config: Config, name: str) -> Config:
    """Return a config that says data, and what evaluations ask beside; raises UserError if it does not."""
    for fact in ('data', 'evaluated'):
        if not isinstance(config.get(fact), Mapping):
            raise UserError(f'{name} says no {fact}, which must be a dict: see docs/evaluation.md')
    facts = typed(Evaluated, config.evaluated, 'evaluated')
    check_keys(facts.settings, PROTOCOLS, 'evaluated')
    for protocol, changes in facts.settings.items():
        if not isinstance(changes, Mapping):
            raise UserError(f'evaluated.{protocol}={changes!r} must be a dict')
    return config


def not_for(protocol: str, name: str) -> UserError:
    """Return the error of a protocol that is not for a data set."""
    others = ' or '.join(OWN_DATA.get(protocol, ['another']))
    return UserError(f'the protocol {protocol} is not for the data set {name}; choose {others} by `data`')


def use_images(cfg: Config, data: Config, protocol: str) -> None:
    """Put the facts of a data set into those of a recipe, in place."""
    cfg.data = ConfigDict(with_defaults(Data, copy.deepcopy(data.data)))
    cfg.evaluated = ConfigDict(with_defaults(Evaluated, copy.deepcopy(data.evaluated)))
    del cfg.evaluated['settings']
    cfg.steps = {**steps_of(data), **steps_of(cfg)}
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
        part: dict[str, Any] = dict(share=percent / 100)
        if evaluated.get('label_lists'):
            part = dict(list_file=f'{percent}percent.txt')
        data.update(part)
        cfg.protocol.update(part if 'list_file' in part else dict(part, seed=0))
    if 'schedule' not in cfg and protocol not in OWN_DATA:
        cfg.protocol.update(resize=data.resize, crop=data.size)
    change(cfg, evaluated.get(protocol) or {})


def change(cfg: Config, changes: Mapping[str, Any]) -> None:
    """Merge changes into the facts of a recipe, in place; another number of epochs stretches the schedule."""
    before = (cfg.get('schedule') or {}).get('epochs')
    merge(cfg, changes)
    if before and not isinstance(cfg.schedule, Mapping):
        raise UserError(f'schedule={cfg.schedule!r} must be a dict')
    nested = Config()
    nested.merge_from_dict(dict(changes))
    if before and isinstance(cfg.schedule.epochs, int) and not {*STRETCHED} & {*nested.get('schedule', {})}:
        stretch(cfg.schedule, before)
