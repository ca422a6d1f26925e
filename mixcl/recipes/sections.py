"""Parts of mmengine's sections that pretraining and evaluations share, made of facts."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from mixcl.backbones.patch_size import plain_patch_size
from mixcl.errors import UserError, as_user_error
from mixcl.randomness import undisturbed_generators
from mixcl.recipes.checking import found_type
from mixcl.recipes.facts import Data, Optimizer, Schedule
from mixcl.recipes.paths import kind_of
from mixcl.recipes.typed import with_type
from mixcl.registry import MODELS, PARAM_SCHEDULERS, build, keywords_of

BATCH_OF_LR = 256
"""Images per step that the learning rates of recipes are for."""

EVALUATED_AT_ONCE = 256
"""Batch of each process that only encodes images."""

SPARED: dict[str, dict[str, Any]] = dict(
    none=dict(custom_keys={}),  # frozen parameters are left out
    flat=dict(flat_decay_mult=0.0),
    named=dict(
        flat_decay_mult=0.0,
        custom_keys={f'.{name}': dict(decay_mult=0.0) for name in ('cls_token', 'reg_token', 'pos_embed')},
    ),
)
"""``paramwise_cfg`` by what weight decay spares: see ``spare`` of :class:`~mixcl.recipes.facts.Optimizer`."""


class Shared(NamedTuple):
    """A batch as processes share it: images of each at a time, batches that make a step, images of a step."""

    at_once: int
    accumulated: int
    images: int


def shared(batch: int, processes: int, most: int, accumulates: bool) -> Shared:
    """Share the images of a step among processes, of which each takes at most so many at a time.

    Too few processes accumulate gradients, or take a smaller batch, since images of several batches are not contrasted.

    Raises:
        UserError: if the processes cannot share the batch evenly.
    """
    if batch % processes:
        raise UserError(
            f'{processes} processes cannot share batch={batch} evenly: start another number of processes, or set '
            f'batch={batch // processes * processes or processes}'
        )
    share = batch // processes
    if share > most and not accumulates:
        return Shared(most, 1, most * processes)
    at_once = next(size for size in range(min(most, share), 0, -1) if share % size == 0)
    if 2 * at_once < min(most, share):
        raise UserError(
            f'batch={batch} on {processes} process(es) cannot be accumulated from batches of at most {most} images but '
            f'of {at_once}: set batch={max(share // most, 1) * most * processes}'
        )
    return Shared(at_once, share // at_once, batch)


def class_of(part: Any, place: str) -> Any:
    """Return the class or function that a part names; raises UserError, with a similar name, if there is none."""
    return found_type(with_type(part, place)['type'], place)


def sized(backbone: Mapping[str, Any], size: int) -> dict[str, Any]:
    """Return the config of a backbone for images of a size, if its class asks for one and its config says none."""
    asks = 'img_size' in keywords_of(class_of(backbone, 'model.backbone'))
    return {**(dict(img_size=size) if asks else {}), **backbone}


def taught(target: Any, size: int) -> Any:
    """Return the config of a target encoder; a teacher's images have a size in pixels, to the nearest whole patch."""
    if kind_of(target) != 'Teacher' or not isinstance(target.get('backbone'), Mapping):
        return target
    patch = patch_of(target['backbone']) or 1
    side = target.get('size') or target['backbone'].get('img_size') or max(round(size / patch), 1) * patch
    backbone = sized(target['backbone'], side)
    if 'one_size' in keywords_of(class_of(backbone, 'model.target.backbone')):
        backbone.setdefault('one_size', True)
    return {**target, 'size': side, 'backbone': backbone}


def patch_of(backbone: Mapping[str, Any]) -> int | None:
    """Return the side in pixels of the patches of a backbone, which is built for it; None if it has none."""
    with undisturbed_generators(), as_user_error('model.backbone'):
        return plain_patch_size(build(MODELS, backbone))


def preprocessor(data: Data, kind: str = 'mixcl.ViewPreprocessor', **settings: Any) -> dict[str, Any]:
    """Return the part that normalises images. Pipelines give colours in BGR order, other channels as in the file."""
    channels = any(isinstance(step, Mapping) and step.get('type') == 'LoadChannels' for step in data.read)
    return dict(type=kind, mean=list(data.mean), std=list(data.std), to_rgb=not channels, **settings)


def training_loader(data: Data, batch: Shared, pipeline: list[dict], sampler: dict) -> dict[str, Any]:
    """Return the loader of training images. The device does the colours, blurs and flips of views for a whole batch."""
    images = {**data.images, **data.splits.get('train', {}), 'pipeline': pipeline}
    if labelled := {name: getattr(data, name) for name in ('share', 'list_file') if getattr(data, name) is not None}:
        images = dict(type='LabelledSubset', **labelled, dataset=images)
    cache = dict(cache=data.cache) if data.cache else {}
    keyed = dict(type='mixcl.KeyedDataset', views='device', dataset=images, **cache)
    return _loader(data, batch.at_once, sampler, keyed, drop_last=True)


def tested_loader(data: Data, split: str, pipeline: list[dict]) -> dict[str, Any]:
    """Return the loader of images as they are, of one part of the data."""
    images = {**data.images, **data.splits.get(split, {}), 'pipeline': pipeline}
    if data.files:  # so that an unreadable image does not end the evaluation
        images = dict(type='mixcl.KeyedDataset', dataset=images)
    return _loader(data, EVALUATED_AT_ONCE, dict(type='DefaultSampler', shuffle=False), images, drop_last=False)


def _loader(data: Data, batch_size: int, sampler: dict, images: dict, drop_last: bool) -> dict[str, Any]:
    loader = dict(batch_size=batch_size, sampler=sampler, dataset=images, drop_last=drop_last)
    workers = dict(num_workers=data.workers, persistent_workers=data.workers > 0, pin_memory=True)
    return dict(loader, **workers, collate_fn=dict(type='default_collate'))


def wrapper(optimizer: Optimizer, batch: Shared) -> dict[str, Any]:
    """Return the section of the optimiser. Its rate grows linearly with the images of a step."""
    decay = optimizer.weight_decay
    start = decay if isinstance(decay, int | float) else decay[0]
    rule = SPARED[optimizer.spare]
    section: dict[str, Any] = dict(type='OptimWrapper', constructor='FewGroupsConstructor', paramwise_cfg=rule)
    if optimizer.layer_decay is not None:
        section['constructor'] = 'LayerDecayConstructor'
        section['paramwise_cfg'] = dict(rule, layer_decay_rate=optimizer.layer_decay)
    rate = optimizer.lr * batch.images / BATCH_OF_LR
    section['optimizer'] = dict(type=optimizer.type, lr=rate, weight_decay=start, **optimizer.settings)
    if optimizer.clip is not None:
        section['clip_grad'] = dict(max_norm=optimizer.clip)
    if batch.accumulated > 1:
        section['accumulative_counts'] = batch.accumulated
    return section


def schedules(schedule: Schedule, optimizer: Optimizer) -> list[dict[str, Any]]:
    """Return the schedules of the learning rate, and of a weight decay that changes."""
    kind = PARAM_SCHEDULERS.get(schedule.type)
    if kind is None:
        raise UserError(f'schedule.type={schedule.type!r} is the name of no schedule')
    by_step = dict(by_epoch=True, convert_to_iter_based=True)
    settings, result = dict(schedule.settings), []
    if 'warmup' in keywords_of(kind):
        settings['warmup'] = schedule.warmup
    elif schedule.warmup:
        start = {name: settings.pop(name) for name in ('start_factor',) if name in settings}
        result.append(dict(type='LinearLR', end=schedule.warmup, **by_step, **start))
    unit = by_step if schedule.per == 'step' else dict(by_epoch=True)
    result.append(dict(type=schedule.type, **settings, **unit))
    if not isinstance(optimizer.weight_decay, int | float):
        first, last = optimizer.weight_decay
        result.append(dict(type='mmpretrain.CosineAnnealingWeightDecay', eta_min_ratio=last / first, **by_step))
    return result
