"""Configs of evaluations without a checkpoint, composed as tools/evaluate.py does."""

import functools
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from mmengine.config import Config

from mixcl.recipes.checking import check_config
from mixcl.recipes.evaluations import composing as composition
from mixcl.recipes.evaluations.adaptation import fit, put_backbone
from mixcl.recipes.evaluations.composing import compose
from mixcl.recipes.evaluations.recipes import Recipe, family_of, find_recipe, variant_of
from mixcl.recipes.overrides import override
from mixcl.recipes.reading import read_config
from mixcl.weights import backbone_config

CONFIGS = Path(__file__).parents[2] / 'configs'
read_once = functools.cache(read_config)
read_data_set = functools.cache(composition.read_data_set)


@functools.cache
def backbone_of(pretraining: str) -> dict | None:
    return backbone_config(read_once(CONFIGS / f'{pretraining}.py'))


def recipe_of(
    protocol: str, data: str, name: str | None = None, backbone: Mapping | None = None, recipe: str | None = None
) -> Recipe | None:
    """Return the recipe for the pretraining config ``name``."""
    images = read_data_set(CONFIGS, data, protocol)
    backbone = backbone or (backbone_of(name) if name else images.backbone)
    return find_recipe(protocol, {data, images.get('like')}, name, family_of(backbone), recipe)


def composed(
    protocol: str,
    data: str = 'digits',
    name: str | None = None,
    backbone: Mapping | None = None,
    recipe: str | None = None,
    overrides: Mapping[str, Any] | None = None,
    builds: bool = True,
) -> Config:
    """Compose the config for the backbone of the pretraining ``name``, for ``backbone``, or for the data set's.

    With ``builds``, the backbone is built to find how many channels the head needs.
    """
    images = read_data_set(CONFIGS, data, protocol)
    backbone = backbone or (backbone_of(name) if name else images.backbone.to_dict())
    row = recipe_of(protocol, data, name, backbone, recipe)
    assert row is not None, f'no recipe of {protocol} on {data} for {name} and {recipe}'
    family = family_of(backbone)
    start = read_once(CONFIGS / f'evaluation/recipes/{row.config}.py')
    variant = variant_of(start, {data, images.get('like')}, name, row.percent)
    cfg = compose(start, variant, images, protocol, family, row.percent)
    put_backbone(cfg, backbone, read_once(CONFIGS / f'{name}.py') if name else None)
    override(cfg, overrides or {})
    check_config(cfg)
    if builds:
        fit(cfg, None)
    cfg.config_name = f'evaluation/{protocol}/any_{data}'
    return cfg


def facts(cfg: Config) -> tuple[float, int, int]:
    """Return the learning rate, batch and epochs."""
    return cfg.optim_wrapper.optimizer.lr, cfg.auto_scale_lr.base_batch_size, cfg.train_cfg.max_epochs


def written(folder: Path, protocol: str, data: str = 'digits', **settings: Any) -> Path:
    """Write a composed config to a file."""
    path = folder / f'{protocol}_{data}.py'
    path.write_text(composed(protocol, data, **settings).pretty_text)
    return path
