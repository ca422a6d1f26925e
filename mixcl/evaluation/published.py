"""Published numbers of the papers, to be shown beside ours.

``published.json`` beside this file holds every number of PatchMix, MixCo, SDMP, APS and BSIM on classification, linear
SVMs, robustness and detection, in the order of papers and tables. (Their memory and time are in configs/README.md.) A
number has these keys, the last five if they are known:

    method          as the paper calls it, with its host: 'BSIM on MoCo v2'; 'supervised' for training from scratch
    backbone        as in config names: 'vit-s16', 'r50'
    protocol        as ``protocol.name`` in recipes; 'detection' for COCO
    data            what it was evaluated on, as in config names
    metric          the name of the value: 'top1', 'svm_map', 'lowshot4_map', 'feat3_top1', 'box_AP'
    value           in percent
    source          paper and table: 'PatchMix, Table 2'
    pretrained_on   pretraining data
    epochs          of pretraining, or of training from scratch
    config          our config for this pretraining, as ``config_name`` in checkpoints
    settings        facts that turn this config into the number's recipe, as ``--cfg-options`` takes them
    condition       settings of the protocol that the number belongs to, as in ``protocol`` of recipes: the recipe,
                    ``{'recipe': 'deit'}``, wherever a protocol has several, or the subset of labels
"""

import functools
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from mmengine.config import Config

from mixcl.recipes.difference import differences
from mixcl.recipes.making import made
from mixcl.recipes.overrides import override_facts
from mixcl.recipes.reading import read_config
from mixcl.recipes.recipe_table import parts_of_name
from mixcl.recipes.subject import Subject
from mixcl.weights import RANDOM

RECIPE = ('model.', 'train_dataloader.dataset.')
"""Prefixes of the settings that all runs of one recipe share, apart from where the data lie."""

PLACES = ('data_root', 'download')

Published = dict[str, Any]
"""One number of one paper."""


@functools.cache
def all_published() -> tuple[Published, ...]:
    """Return every number."""
    return tuple(json.loads(Path(__file__).with_name('published.json').read_text(encoding='utf-8')))


def papers_numbers(subject: Subject, data: str, cfg: Config, configs: Path) -> list[Published]:
    """Return the numbers to show beside a result: of the same pretraining, or of the same training from scratch.

    The result is of ``subject`` on ``data``, by the config ``cfg``; pretrainings of numbers are read from ``configs``.
    """
    if subject.checkpoint != RANDOM:
        rows = published_of_config(subject.config_name, subject.epochs, data, cfg.protocol)
        return [row for row in rows if subject.config and same_recipe(row, subject.config, configs)]
    if cfg.protocol.name != 'supervised':
        return []
    backbone, epochs = parts_of_name(subject.config_name)[0], cfg.train_cfg.max_epochs
    return _matching_rows(protocol='supervised', data=data, backbone=backbone, epochs=epochs)


def published_of_config(
    config: str | None, epochs: int | None, data: str, protocol: Mapping[str, Any]
) -> list[Published]:
    """Return the numbers of models that ``config`` pretrains for ``epochs``, if their condition fits the protocol."""
    rows = _matching_rows(config=config, epochs=epochs, data=data, protocol=protocol['name']) if config else []
    return [row for row in rows if all(protocol.get(key) == value for key, value in row.get('condition', {}).items())]


def same_recipe(row: Published, trained: Config, configs: Path) -> bool:
    """Whether a run followed the recipe of a row: the row's config with the row's overrides, and no others.

    The comparison covers the model, the training images with their augmentation, and whatever else a row of the same
    config overrides. Other settings, such as batch size and learning rate, may differ.
    """
    recipe = read_config(configs / f'{row["config"]}.py')
    override_facts(recipe, row.get('settings', {}))
    others = {key for other in _matching_rows(config=row['config']) for key in other.get('settings', {})}
    places = (*RECIPE, *(f'recipe.{key}' for key in others))
    changes = differences(made(recipe, 1).to_dict(), trained.to_dict())
    return not any(change.path.startswith(places) and not change.path.endswith(PLACES) for change in changes)


def _matching_rows(**wanted: Any) -> list[Published]:
    return [row for row in all_published() if all(row.get(key) == value for key, value in wanted.items())]
