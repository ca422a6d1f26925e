"""Trial build of the parts of a run, which reports mistakes before data are read."""

import re
from collections.abc import Mapping
from typing import Any

from mmengine.config import Config
from torch import nn

from mixcl.algorithms import Learner
from mixcl.datasets import KeyedDataset
from mixcl.engine.hooks.banner import batch_note
from mixcl.engine.runners.activation_checkpointing import checkpoint_activations
from mixcl.engine.runners.compiling import check_compiling
from mixcl.engine.runners.pretrain_loop import PretrainLoop
from mixcl.engine.runners.trial_step import synthetic_images, try_step
from mixcl.errors import UserError
from mixcl.randomness import undisturbed_generators
from mixcl.recipes.building import check_built, tried_from
from mixcl.recipes.checking import found_type
from mixcl.recipes.data_roots import DATA_SECTIONS, check_files
from mixcl.recipes.images import crop_sizes
from mixcl.recipes.paths import kind_of, readable, walk
from mixcl.registry import LOOPS

LATEST_OFFSETS = dict(begin=-1, warmup=-1, milestones=-1, end=0, T_max=0)
"""Largest value of each option of a schedule, as an offset from the length of the run."""


def check_start(cfg: Config, processes: int = 1) -> list[str]:
    """Check that a run could start on so many processes; return notes on its batch and its schedules.

    Raises:
        UserError: for the first thing that cannot work.
    """
    check_files(cfg)
    check_compiling(cfg)
    model = check_built(cfg)
    if cfg.get('activation_checkpointing') is not None:
        checkpoint_activations(model, cfg.activation_checkpointing)
    check_classes(cfg, model)
    try_views(cfg, model, processes)
    try_step(cfg, model, processes)
    return [*_batch_lines(cfg, processes), *(f'note: {note}' for note in schedule_notes(cfg))]


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
    with undisturbed_generators(), tried_from(cfg, 'the pipeline of train_dataloader'):
        sample = KeyedDataset(images, views)[0]
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
        kind: Any = found_type(node['type'], readable(path), cfg.get('default_scope') or 'mmengine')
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


def schedule_notes(cfg: Config) -> list[str]:
    """List, a sentence each, schedules that begin, switch or end after the run does, or all end before it.

    These are no errors: short trial runs of a long recipe are legitimate.
    """
    schedules = cfg.get('param_scheduler') or []
    schedules = [schedules] if isinstance(schedules, Mapping) else schedules
    notes = []
    for number, schedule in enumerate(schedules):
        unit = 'epochs' if schedule.get('by_epoch', True) else 'iters'
        length = (cfg.get('train_cfg') or {}).get(f'max_{unit}')
        if not length:  # the steps of a run that counts epochs depend on the data
            continue
        for name, margin in LATEST_OFFSETS.items():
            value = schedule.get(name) or 0
            if max(value if isinstance(value, (list, tuple)) else [value]) > length + margin:
                notes.append(
                    f'param_scheduler[{number}] ({schedule.get("type")}) has {name}={value}, but the run has {length} '
                    f'{unit} (train_cfg.max_{unit})'
                )
    ends = [schedule.get('end') for schedule in schedules]
    epochs = (cfg.get('train_cfg') or {}).get('max_epochs') or 0
    if ends and all(ends) and all(schedule.get('by_epoch', True) for schedule in schedules) and 0 < max(ends) < epochs:
        notes.append(
            f'the last param_scheduler ends after epoch {max(ends)} of {epochs}; afterwards its values stay constant'
        )
    return notes
