"""Trial build of the parts of a config on the CPU; a constructor's error is told with its place in the config."""

import traceback
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from mmengine.config import Config
from mmengine.dataset import BaseDataset, Compose
from mmengine.hooks import Hook
from mmengine.optim import OptimWrapper, build_optim_wrapper
from mmengine.registry import DefaultScope
from mmengine.visualization import Visualizer
from torch import nn

from mixcl.errors import as_user_error
from mixcl.recipes.checking import found_factories
from mixcl.recipes.data_roots import DATA_SECTIONS, EVALUATOR_SECTIONS
from mixcl.recipes.paths import readable, runner_sections, walk, whole_model
from mixcl.recipes.typed import with_type
from mixcl.registry import DATASETS, HOOKS, METRICS, MODELS, PARAM_SCHEDULERS, thawed

TRIED_STEPS_PER_EPOCH = 100
"""Steps per epoch that trial schedules assume; the true number depends on the data."""

OF_OPTIMIZER = ('optimizer', 'constructor', 'paramwise_cfg', 'clip_grad', 'accumulative_counts')
"""Settings of an optimiser wrapper without those of loss scaling, which fails without a GPU."""


def check_built(cfg: Config) -> nn.Module:
    """Build all that needs no images, and return the model; raises UserError for what cannot be built."""
    check_parts(cfg)
    hooks = {f'default_hooks.{name}': hook for name, hook in (cfg.get('default_hooks') or {}).items()}
    hooks |= {f'custom_hooks[{number}]': hook for number, hook in enumerate(cfg.get('custom_hooks') or [])}
    Visualizer.get_instance('dry run')  # hooks of mmdet ask for the current one
    for place, hook in hooks.items():
        if hook is not None and not isinstance(hook, Hook):
            with tried_from(cfg, place):
                settings = thawed(with_type(hook, place))
                HOOKS.build({name: value for name, value in settings.items() if name != 'priority'})
    model = build_model(cfg)
    if cfg.get('train_cfg'):
        with tried_from(cfg, 'optim_wrapper'):
            wrapper = thawed(cfg.optim_wrapper)
            build_optim_wrapper(model, {name: wrapper[name] for name in OF_OPTIMIZER if name in wrapper})
    return model


def check_parts(cfg: Config) -> None:
    """Build what a Runner builds only once it has read the data: schedules, metrics, transforms and data sets.

    Data sets do not list their images, and are left out where their folder is missing.

    Raises:
        UserError: for the first part that cannot be built.
    """
    schedules = cfg.get('param_scheduler') or []
    for number, schedule in enumerate([schedules] if isinstance(schedules, Mapping) else schedules):
        with tried_from(cfg, f'param_scheduler[{number}]'):
            settings = thawed(with_type(schedule, f'param_scheduler[{number}]'))
            PARAM_SCHEDULERS.build(settings, default_args=_schedule_defaults(cfg, schedule))
    for path, part in walk({name: cfg.get(name) for name in (*EVALUATOR_SECTIONS, *DATA_SECTIONS)}):
        if not isinstance(part, Mapping) or 'type' not in part:
            continue
        with tried_from(cfg, readable(path)):
            if path[0] in EVALUATOR_SECTIONS and not {'ann_file', 'metrics'} & part.keys():
                METRICS.build(thawed(part))
            elif path[0] in DATA_SECTIONS and part.get('pipeline'):
                Compose(thawed(part['pipeline']))
                kind: Any = found_factories(part['type'], cfg.get('default_scope') or 'mmengine')[0]
                listed = isinstance(kind, type) and issubclass(kind, BaseDataset)
                if listed and part.get('data_root') and Path(part['data_root']).is_dir():
                    DATASETS.build({**thawed(part), 'lazy_init': True})


def build_model(cfg: Config) -> nn.Module:
    """Build the model of a config on the CPU; raise UserError, which names the part, if it cannot be built."""
    with tried_from(cfg, 'model'):
        return MODELS.build(whole_model(cfg))


@contextmanager
def built_from(cfg: Config, place: str = 'the config') -> Iterator[None]:
    """Turn a constructor's error about its arguments into a UserError that names the dict of the config.

    ``place`` is named where no dict of the config was being built.
    """
    try:
        yield
    except Exception as error:
        with as_user_error(_place_of(error, cfg) or place):
            raise


@contextmanager
def tried_from(cfg: Config, place: str) -> Iterator[None]:
    """Same as :func:`built_from` where no Runner is there to set the scope of the config."""
    with DefaultScope.overwrite_default_scope(cfg.get('default_scope') or 'mmengine'), built_from(cfg, place):
        yield


def _place_of(error: Exception, cfg: Config) -> str | None:
    """Return the place in a config of the dict that was being built when an error was raised."""
    frames = [frame for frame, _ in traceback.walk_tb(error.__traceback__) if frame.f_code.co_name == 'build_from_cfg']
    given = [frame.f_locals.get('cfg') for frame in reversed(frames)]
    for settings in (one for one in given if isinstance(one, Mapping)):
        for path, node in walk(dict(runner_sections(cfg))):
            if isinstance(node, Mapping) and 'type' in node and {key: settings.get(key) for key in node} == node:
                return readable(path)
    return None


def _schedule_defaults(cfg: Config, schedule: Mapping) -> dict[str, Any]:
    """Return what the Runner adds, which knows the number of steps."""
    epochs = (cfg.get('train_cfg') or {}).get('max_epochs', 1)
    end = epochs if schedule.get('by_epoch', True) else epochs * TRIED_STEPS_PER_EPOCH
    optim_wrapper = OptimWrapper(torch.optim.AdamW([nn.Parameter(torch.zeros(1))]))
    return dict(optimizer=optim_wrapper, epoch_length=TRIED_STEPS_PER_EPOCH, end=end)
