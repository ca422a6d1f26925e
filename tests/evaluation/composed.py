"""Configs of evaluations without a checkpoint, composed as ``mixcl evaluate`` does."""

import copy
import functools
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from mmengine.config import Config

from mixcl.recipes.checking import check_config
from mixcl.recipes.evaluations import composing
from mixcl.recipes.evaluations.adaptation import put_backbone
from mixcl.recipes.evaluations.composing import change, complete, use_images
from mixcl.recipes.making import made
from mixcl.recipes.prepared import prepared
from mixcl.recipes.reading import read_config
from mixcl.recipes.recipe_table import RecipeRow, family_of, find_recipe, variant_of
from mixcl.weights import backbone_config

CONFIGS = Path(__file__).parents[2] / 'configs'
data_set = functools.cache(composing.data_set)
prepared_once, read_once = functools.cache(prepared), functools.cache(read_config)


@functools.cache
def backbone_of(pretraining: str) -> dict | None:
    return backbone_config(read_config(pretraining))


def recipe_of(
    protocol: str, data: str, name: str | None = None, backbone: Mapping | None = None, recipe: str | None = None
) -> RecipeRow | None:
    """Return the recipe for the pretraining config ``name``."""
    evaluated = data_set(data, protocol).evaluated
    backbone = backbone or (backbone_of(name) if name else evaluated.backbone)
    return find_recipe(protocol, {data, evaluated.get('like')}, name, family_of(backbone), recipe)


def composed_facts(
    protocol: str,
    data: str = 'digits',
    name: str | None = None,
    backbone: Mapping | None = None,
    recipe: str | None = None,
    source: Config | None = None,
) -> Config:
    """Compose the facts for the backbone of the pretraining ``name``, for ``backbone``, or for the data set's.

    Images are prepared as those of ``source`` or the pretraining.
    """
    images = data_set(data, protocol)
    backbone = backbone or (backbone_of(name) if name else images.evaluated.backbone.to_dict())
    row = recipe_of(protocol, data, name, backbone, recipe)
    assert row is not None, f'no recipe of {protocol} on {data} for {name} and {recipe}'
    cfg = copy.deepcopy(read_once(CONFIGS / f'evaluation/recipes/{row.config}.py'))
    variant = variant_of(cfg, {data, images.evaluated.get('like')}, name, row.percent)
    use_images(cfg, images, protocol)
    complete(cfg, variant, family_of(backbone), row.percent)
    put_backbone(cfg, backbone, source or (prepared_once(CONFIGS / f'{name}.py') if name else None))
    cfg.config_name = f'evaluation/{protocol}/any_{data}'
    return cfg


def composed(*args: Any, overrides: Mapping[str, Any] | None = None, **kwargs: Any) -> Config:
    """Make the config of what :func:`composed_facts` composes, on the number of processes that it is meant for."""
    facts = composed_facts(*args, **kwargs)
    change(facts, overrides or {})
    cfg = made(facts, facts.evaluated.get('processes', 1))
    check_config(cfg)
    return cfg


def numbers(cfg: Config) -> tuple[float, int, int]:
    """Return the learning rate, batch and epochs of facts, or of what is made of them."""
    facts = cfg.get('recipe') or cfg
    return facts.optimizer.lr * facts.batch / 256, facts.batch, facts.schedule.epochs


def written(folder: Path, protocol: str, data: str = 'digits', **settings: Any) -> Path:
    """Write the facts of a composed config to a file."""
    path = folder / f'{protocol}_{data}.py'
    path.write_text(composed_facts(protocol, data, **settings).pretty_text)
    return path
