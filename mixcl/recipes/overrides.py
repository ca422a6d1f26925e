"""Values that the command line sets by their dotted names (``--cfg-options``): facts first, sections last."""

import copy
from collections.abc import Mapping
from typing import Any

from mmengine.config import Config

from mixcl.errors import UserError
from mixcl.recipes.facts import FACTS
from mixcl.recipes.paths import RUNNER_KEYS, dotted, walk
from mixcl.recipes.reading import use_data_set
from mixcl.recipes.typed import suggested

SAID_BY_FACTS = {
    'auto_scale_lr': 'batch',
    'model.views': 'views',
    'optim_wrapper.accumulative_counts': 'accumulate',
    'optim_wrapper.optimizer': 'optimizer (its lr is for 256 images)',
    'train_cfg.max_epochs': 'schedule.epochs',
    'train_cfg.val_interval': 'measure.every',
    'train_dataloader.batch_size': 'batch',
}
"""Settings of sections that follow from facts, which are to be changed instead."""


def facts_and_sections(overrides: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Divide overrides into those of facts and those of sections; raises UserError for a name that is neither."""
    of_facts = {key: value for key, value in overrides.items() if key.partition('.')[0] in {*FACTS, 'model'}}
    of_sections = {key: value for key, value in overrides.items() if key not in of_facts}
    for key, value in of_sections.items():
        name = key.partition('.')[0]
        if name not in RUNNER_KEYS:
            hint = suggested(name, {*FACTS, *RUNNER_KEYS})
            raise UserError(f'`cfg_options` {key}={value}: there is no fact and no section {name!r}{hint}')
    refuse_facts_in_sections(_nested(of_sections))
    return of_facts, of_sections


def refuse_facts_in_sections(said: Mapping[str, Any]) -> None:
    """Refuse what sets in a section what a fact says; raises UserError that names the fact."""
    for place, fact in SAID_BY_FACTS.items():
        node: Any = said
        for name in place.split('.'):
            node = node.get(name) if isinstance(node, Mapping) else None
        if node is not None:
            raise UserError(f'{place}={node!r}: in this recipe it follows from a fact; set {fact} instead')


def override_facts(cfg: Config, overrides: Mapping[str, Any]) -> None:
    """Set facts by dotted names, as if the config said so; raises UserError for what would have no effect."""
    overrides = dict(overrides)
    if isinstance(overrides.get('data'), str):  # before what is said about the data one by one
        use_data_set(cfg, overrides.pop('data'))
    merge(cfg, overrides)
    if not isinstance(cfg.get('data'), Mapping):
        raise UserError(f'data={cfg.get("data")!r} must be a dict, or the name of a data set')
    views = _nested({key: value for key, value in overrides.items() if key.startswith('views.')})
    for path in [path for path, value in walk(views) if len(path) > 2 and not isinstance(value, Mapping)]:
        for holder, settings in cfg.data.views.items():
            if (path[1] == 'all' or holder in ('all', path[1])) and path[2] in (settings or {}):
                place = f'data.views.{holder}.{path[2]}'
                raise UserError(f'`cfg_options` {dotted(path)} has no effect: {place}, for these images, wins')


def merge(cfg: Config, overrides: Mapping[str, Any]) -> None:
    """Merge values by dotted names into a config, in place; raises UserError if one cannot be merged."""
    try:
        copy.deepcopy(cfg).merge_from_dict(copy.deepcopy(dict(overrides)))  # a merge may fail half way
    except (LookupError, TypeError, ValueError, AttributeError) as error:
        options = ' '.join(f'{key}={value}' for key, value in overrides.items())
        raise UserError(
            f'`cfg_options` {options}: {" ".join(str(error).split())}; a list of values is set as a whole, and what '
            'is no dict becomes one with NAME._delete_=True'
        ) from error
    cfg.merge_from_dict(copy.deepcopy(dict(overrides)))  # merging takes _delete_ out


def _nested(overrides: Mapping[str, Any]) -> dict[str, Any]:
    nested = Config()
    merge(nested, overrides)
    return nested.to_dict()
