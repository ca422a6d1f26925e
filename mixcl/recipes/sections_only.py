"""Configs that say mmengine's sections and no facts: stored and printed ones, and those of other libraries."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from mmengine.config import Config, ConfigDict

from mixcl.errors import UserError
from mixcl.recipes.data_roots import EVALUATOR_SECTIONS, with_data_root
from mixcl.recipes.overrides import merge
from mixcl.recipes.own_data import reader_of, source_config
from mixcl.recipes.paths import RUNNER_KEYS, innermost, kind_of, runner_sections, walk
from mixcl.recipes.pipelines import READERS
from mixcl.recipes.typed import suggested


def override(cfg: Config, overrides: Mapping[str, Any]) -> None:
    """Merge overrides into sections, in place; raises UserError for the first that cannot have its intended effect.

    A top-level variable of the config itself has already been copied to the places that use it, so overriding it has
    no effect. ``check_config`` finds new keys that nothing reads.
    """
    for key, value in overrides.items():
        name = key.partition('.')[0]
        if name not in RUNNER_KEYS:
            hint = '; pass `data_root=DIR`' if key == 'data_root' else suggested(name, {*RUNNER_KEYS, *cfg})
            said = f'the config has no {name!r}{hint}'
            if name in cfg:
                hint = ', or pass `data_root=DIR`' if name == 'data_root' else ''
                said = f'it has no effect, since {name!r} is a variable that the config has already used; override the '
                said += f'places that use it, which mixcl print-config shows{hint}'
            raise UserError(f'`cfg_options` {key}={value}: {said}')
    merge(cfg, overrides)


def set_data_root(cfg: Config, root: str) -> None:
    """Set the root of all data sets and the files of metrics, in place; raises UserError if no data set has a root."""
    nodes = [node for _, node in with_data_root(dict(runner_sections(cfg)))]
    if not nodes:
        raise UserError(f'`data_root={root}`: no data set of this config reads a folder; leave the option out')
    old_roots = {Path(node['data_root']) for node in nodes if node['data_root']}
    for _, metric in walk({name: cfg[name] for name in EVALUATOR_SECTIONS if name in cfg}):
        if isinstance(metric, dict) and metric.get('ann_file'):
            file = Path(metric['ann_file'])
            for old in sorted(old_roots & set(file.parents))[-1:]:  # the innermost
                metric['ann_file'] = str(root / file.relative_to(old))
    for node in nodes:
        node['data_root'] = root


def train_on(cfg: Config, spec: str, data_root: str | None = None) -> None:
    """Put other images in place of those that a config trains on, in place; their views stay."""
    own: Any = innermost(cfg.train_dataloader.dataset)
    others = [step for step in own.pipeline if kind_of(step) not in READERS]
    images = source_config(spec, data_root, cfg)
    dataset = dict(images, split='pretrain', pipeline=[reader_of(cfg), *others])
    views = cfg.train_dataloader.dataset.get('views', 'pillow')
    cfg.train_dataloader.dataset = ConfigDict(type='mixcl.KeyedDataset', views=views, dataset=dataset)
