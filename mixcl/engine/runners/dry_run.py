"""Building the parts of a run for trial, so that what is wrong with them is said before data are read."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import torch
from mmengine.config import Config, ConfigDict
from mmengine.optim import OptimWrapper
from mmengine.registry import DefaultScope
from mmengine.visualization import Visualizer
from torch import nn

from mixcl.algorithms import ContrastiveLearner
from mixcl.datasets import KeyedDataset
from mixcl.errors import UserError, told_as_user_error
from mixcl.experiments.options.smoke import synthetic_images
from mixcl.experiments.paths import kind_of
from mixcl.randomness import undisturbed_generators
from mixcl.registry import HOOKS, PARAM_SCHEDULERS

STEPS_PER_EPOCH = 100
"""Of the schedules on trial; how many there are depends on the data."""


def try_hooks(cfg: Config) -> None:
    """Build every hook of a config; raises UserError for the first that cannot be built."""
    named = {f'default_hooks.{name}': hook for name, hook in (cfg.get('default_hooks') or {}).items()}
    named |= {f'custom_hooks[{number}]': hook for number, hook in enumerate(cfg.get('custom_hooks') or [])}
    Visualizer.get_instance('dry run')  # hooks of mmdet ask for the present one
    for place, hook in named.items():
        if isinstance(hook, dict):
            settings = {name: value for name, value in hook.items() if name != 'priority'}
            _attempt(place, partial(HOOKS.build, settings), cfg)


def try_schedules(cfg: Config) -> None:
    """Build the schedules of a config, for an optimiser of their own; raises UserError where one cannot be built."""
    schedules = cfg.get('param_scheduler') or []
    for number, schedule in enumerate([schedules] if isinstance(schedules, dict) else schedules):
        _attempt(f'param_scheduler[{number}]', partial(_schedule, schedule, cfg), cfg)


def try_views(cfg: Config, model: nn.Module, processes: int | None = None) -> None:
    """Let the training pipeline make the views of a synthetic image, and the model judge them and the batch size.

    Of models of other kinds, and where images are not those of a ``KeyedDataset``, only the preprocessor is checked.
    ``processes`` is how many will train, by default those of this run.

    Raises:
        UserError: if there can be no such views, or the model cannot use them.
    """
    loader = cfg.get('train_dataloader')
    _check_device_views(cfg, loader or {})
    if not isinstance(model, ContrastiveLearner) or loader is None:
        return
    if 'dataset' not in loader:
        raise UserError('train_dataloader has no dataset; name one, as configs/_base_/datasets do')
    if kind_of(loader.dataset) != 'KeyedDataset':
        return
    images = synthetic_images(loader.dataset, 2, cfg.model.backbone.get('in_channels', 3))
    views = loader.dataset.get('views', 'pillow')
    with undisturbed_generators():
        sample = _attempt('the pipeline of train_dataloader', lambda: KeyedDataset(images, views)[0], cfg)
    crops = sample.get('inputs')
    if crops is None:
        raise UserError(
            "the pipeline of train_dataloader gives no images (inputs): end it with dict(type='mmpretrain.PackInputs')"
        )
    model.check_batch(crops if isinstance(crops, list) else [crops], loader.batch_size, processes)


def _check_device_views(cfg: Config, loader: Mapping) -> None:
    preprocessor = str((cfg.get('data_preprocessor') or {}).get('type'))
    if (loader.get('dataset') or {}).get('views') == 'device' and not preprocessor.endswith('ViewPreprocessor'):
        raise UserError(
            "train_dataloader.dataset.views='device' leaves colours, blurs and flips to data_preprocessor.type="
            f"'ViewPreprocessor' (of classifiers 'ClassifierViewPreprocessor'), but that is {preprocessor}: "
            'change one of them'
        )


def _attempt(place: str, build: Callable[[], Any], cfg: Config) -> Any:
    with told_as_user_error(place), DefaultScope.overwrite_default_scope(cfg.get('default_scope') or 'mmengine'):
        return build()


def _schedule(schedule: ConfigDict, cfg: Config) -> None:
    # As the Runner does, which knows the number of steps.
    epochs = (cfg.get('train_cfg') or {}).get('max_epochs', 1)
    end = epochs if schedule.get('by_epoch', True) else epochs * STEPS_PER_EPOCH
    optim_wrapper = OptimWrapper(torch.optim.AdamW([nn.Parameter(torch.zeros(1))]))
    defaults = dict(optimizer=optim_wrapper, epoch_length=STEPS_PER_EPOCH, end=end)
    PARAM_SCHEDULERS.build(schedule, default_args=defaults)
