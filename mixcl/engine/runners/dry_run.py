"""Trial build of the parts of a run, which reports mistakes before data are read."""

import re
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import torch
from mmengine.config import Config, ConfigDict
from mmengine.hooks import Hook
from mmengine.optim import OptimWrapper, build_optim_wrapper
from mmengine.registry import DefaultScope
from mmengine.visualization import Visualizer
from torch import nn

from mixcl.algorithms import Learner
from mixcl.datasets import KeyedDataset
from mixcl.engine.hooks.banner import batch_note
from mixcl.engine.runners.activation_checkpointing import checkpoint_activations
from mixcl.engine.runners.compiling import check_compiling
from mixcl.engine.runners.pretrain_loop import PretrainLoop
from mixcl.engine.runners.trial_step import build_model, synthetic_images, try_step
from mixcl.errors import UserError, as_user_error
from mixcl.randomness import undisturbed_generators
from mixcl.recipes.checks.building import built_from
from mixcl.recipes.checks.types import find_factories
from mixcl.recipes.checks.values import schedule_notes
from mixcl.recipes.data_roots import DATA_SECTIONS, check_files
from mixcl.recipes.paths import kind_of, readable, walk
from mixcl.recipes.sizes import crop_sizes
from mixcl.registry import HOOKS, LOOPS, PARAM_SCHEDULERS

STEPS_PER_EPOCH = 100
"""Steps per epoch that trial schedules assume; the true number depends on the data."""


def check_start(cfg: Config, processes: int = 1) -> list[str]:
    """Check that a run could start on so many processes; return notes on its batch and its schedules.

    Raises:
        UserError: for the first thing that cannot work.
    """
    check_files(cfg)
    check_compiling(cfg)
    _try_hooks(cfg)
    try_schedules(cfg)
    model = build_model(cfg)
    if cfg.get('train_cfg'):
        # Without loss scaling, which fails without a GPU, though another machine may train with it.
        shared = ('optimizer', 'constructor', 'paramwise_cfg', 'clip_grad', 'accumulative_counts')
        settings = {name: cfg.optim_wrapper[name] for name in shared if name in cfg.optim_wrapper}
        with DefaultScope.overwrite_default_scope(cfg.get('default_scope') or 'mmengine'), built_from(cfg):
            build_optim_wrapper(model, settings)
    if cfg.get('activation_checkpointing') is not None:
        checkpoint_activations(model, cfg.activation_checkpointing)
    check_classes(cfg, model)
    try_views(cfg, model, processes)
    try_step(cfg, model, processes)
    return [*_batch_lines(cfg, processes), *(f'note: {note}' for note in schedule_notes(cfg))]


def _try_hooks(cfg: Config) -> None:
    """Build every hook of a config; raise UserError for the first that cannot be built."""
    named = {f'default_hooks.{name}': hook for name, hook in (cfg.get('default_hooks') or {}).items()}
    named |= {f'custom_hooks[{number}]': hook for number, hook in enumerate(cfg.get('custom_hooks') or [])}
    Visualizer.get_instance('dry run')  # hooks of mmdet ask for the current one
    for place, hook in named.items():
        if hook is not None and not isinstance(hook, Hook):
            _attempt(place, partial(_hook, hook), cfg)


def _hook(settings: Mapping) -> Hook:
    return HOOKS.build({name: value for name, value in settings.items() if name != 'priority'})


def try_schedules(cfg: Config) -> None:
    """Build the schedules of a config on a throwaway optimiser; raise UserError if one cannot be built."""
    schedules = cfg.get('param_scheduler') or []
    for number, schedule in enumerate([schedules] if isinstance(schedules, dict) else schedules):
        _attempt(f'param_scheduler[{number}]', partial(_schedule, schedule, cfg), cfg)


def try_views(cfg: Config, model: nn.Module, processes: int | None = None) -> None:
    """Run the training pipeline on a synthetic image, and let the model check the views and the batch size.

    For a model that is no ``Learner``, only the preprocessor is checked; if the data set is no ``KeyedDataset``, the
    train loop as well. ``processes`` is how many will train, by default those of this run.

    Raises:
        UserError: if the views cannot be made, or the model or its train loop cannot use them.
    """
    loader = cfg.get('train_dataloader')
    _check_device_views(cfg, loader or {})
    if not isinstance(model, Learner) or loader is None:
        return
    loop = cfg.train_cfg.get('type') if cfg.get('train_cfg') else 'PretrainLoop'
    known = LOOPS.get(loop) if isinstance(loop, str) else loop
    if not (isinstance(known, type) and issubclass(known, PretrainLoop)):
        raise UserError(
            f'train_cfg.type={loop!r} would never update the target encoder of a {type(model).__name__}, and would '
            "repeat its random draws at every step: write train_cfg.type='PretrainLoop'"
        )
    if 'dataset' not in loader:
        raise UserError('train_dataloader has no dataset; name one, as mixcl print-config shows')
    if kind_of(loader.dataset) != 'KeyedDataset':
        return
    # As large as the crops, some of which cut without resizing; without crops, as the model's images.
    own = getattr(model.backbone, 'img_size', None) or 64
    size = max(crop_sizes(loader), default=own if isinstance(own, int) else max(own))
    images = synthetic_images(loader.dataset, 2, cfg.model.backbone.get('in_channels', 3), size)
    views = loader.dataset.get('views', 'pillow')
    with undisturbed_generators():
        sample = _attempt('the pipeline of train_dataloader', lambda: KeyedDataset(images, views)[0], cfg)
    crops = sample.get('inputs')
    if crops is None:
        raise UserError(
            "the pipeline of train_dataloader gives no images (inputs): end it with dict(type='mmpretrain.PackInputs')"
        )
    model.check_batch(crops if isinstance(crops, list) else [crops], loader.batch_size, processes)


def check_classes(cfg: Config, model: nn.Module) -> None:
    """Compare the classes of a detector's box and mask heads with the names of those in its data; raise UserError.

    With too few in a head, the CPU's loss fails at some step; with too many, a run trains and nothing says so.
    """
    heads = {
        f'model.{name}.num_classes': module.num_classes
        for name, module in model.named_modules()
        if re.search(r'(bbox|mask)_head(\.\d+)?$', name) and hasattr(module, 'num_classes')
    }
    for path, node in walk({name: cfg.get(name) for name in DATA_SECTIONS}) if heads else ():
        if not (isinstance(node, Mapping) and 'ann_file' in node and 'type' in node):
            continue
        kind: Any = find_factories(node['type'], cfg.get('default_scope') or 'mmengine')[0]
        own = getattr(kind, 'METAINFO', {}).get('classes')
        names: Any = (node.get('metainfo') or {}).get('classes', own)
        if isinstance(names, str):
            raise UserError(f'{readable(path)}.metainfo.classes={names!r} must be a tuple of names: ({names!r},)')
        for place, number in heads.items() if names else ():
            if number != len(names):
                raise UserError(
                    f'{place}={number}, but {readable(path)} has {len(names)} classes ({", ".join(names[:3])}'
                    f'{", ..." if len(names) > 3 else ""}): set num_classes={len(names)} in every head, or name the '
                    'classes of your annotations in metainfo.classes of every data set'
                )


def _check_device_views(cfg: Config, loader: Mapping) -> None:
    preprocessor = str((cfg.get('data_preprocessor') or {}).get('type'))
    if (loader.get('dataset') or {}).get('views') == 'device' and not preprocessor.endswith('ViewPreprocessor'):
        raise UserError(
            "train_dataloader.dataset.views='device' leaves colours, blurs and flips to data_preprocessor.type="
            f"'ViewPreprocessor' (of classifiers 'ClassifierViewPreprocessor'), but that is {preprocessor}: "
            'change one of them'
        )


def _attempt(place: str, build: Callable[[], Any], cfg: Config) -> Any:
    with as_user_error(place), DefaultScope.overwrite_default_scope(cfg.get('default_scope') or 'mmengine'):
        return build()


def _schedule(schedule: ConfigDict, cfg: Config) -> None:
    # Like the Runner, which knows the number of steps.
    epochs = (cfg.get('train_cfg') or {}).get('max_epochs', 1)
    end = epochs if schedule.get('by_epoch', True) else epochs * STEPS_PER_EPOCH
    optim_wrapper = OptimWrapper(torch.optim.AdamW([nn.Parameter(torch.zeros(1))]))
    defaults = dict(optimizer=optim_wrapper, epoch_length=STEPS_PER_EPOCH, end=end)
    PARAM_SCHEDULERS.build(schedule, default_args=defaults)


def _batch_lines(cfg: Config, processes: int) -> list[str]:
    """Return lines that compare the global batch with the one that the learning rate was made for."""
    batch_size = (cfg.get('train_dataloader') or {}).get('batch_size')
    if batch_size is None:
        return []
    accumulated = cfg.optim_wrapper.get('accumulative_counts', 1)
    images = processes * batch_size * accumulated
    rate = f'learning rate {cfg.optim_wrapper.optimizer.lr:.4g}' + batch_note(
        cfg, images, cfg.optim_wrapper.optimizer.lr
    )
    return [f'global batch {images}: {batch_size} images on each of {processes} process(es)', rate]
