"""Mmengine's sections, made of the facts of a recipe. Nothing else makes them."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from mmengine.config import Config

from mixcl.algorithms import PatchSamplingLearner
from mixcl.backbones.patch_size import plain_patch_size
from mixcl.errors import UserError, as_user_error
from mixcl.randomness import undisturbed_generators
from mixcl.recipes.checking import found_type
from mixcl.recipes.facts import FACTS, Data, Optimizer, Recipe, Schedule, read_facts, slip_of
from mixcl.recipes.paths import RUNNER_KEYS
from mixcl.recipes.pipelines import evaluation_pipeline, needs_patches, training_pipeline, views_of
from mixcl.registry import MODELS, PARAM_SCHEDULERS, build, keywords_of

PER = 256
"""Images per step that learning rates of recipes are for."""

EVALUATED_AT_ONCE = 256

SAID_BY_FACTS = {
    'auto_scale_lr': 'batch',
    'model.views': 'views',
    'optim_wrapper.accumulative_counts': 'accumulate',
    'optim_wrapper.optimizer': 'optimizer',
    'train_cfg.max_epochs': 'schedule.epochs',
    'train_cfg.val_interval': 'measure.every',
    'train_dataloader.batch_size': 'batch',
}
"""Settings of sections that follow from facts, which are to be changed instead."""

SPARED: dict[str, dict[str, Any]] = dict(
    none={},
    flat=dict(flat_decay_mult=0.0),
    named=dict(
        flat_decay_mult=0.0,
        custom_keys={f'.{name}': dict(decay_mult=0.0) for name in ('cls_token', 'reg_token', 'pos_embed')},
    ),
)


class Shared(NamedTuple):
    """A batch as processes share it: images of each at a time, batches that make a step, images of a step."""

    at_once: int
    accumulated: int
    images: int


def has_facts(config: Mapping[str, Any]) -> bool:
    """Whether a config says facts, and not mmengine's sections alone."""
    return bool(config.get('facts'))


def made(config: Config, processes: int) -> Config:
    """Return the config that mmengine runs: the sections that follow from facts, and on top those of the config itself.

    The facts themselves are kept as ``recipe``.

    Raises:
        UserError: if a fact is wrong, or a section sets what a fact says.
    """
    for name in config:
        if meant := slip_of(name, FACTS | RUNNER_KEYS):
            raise UserError(f'{name} is read by nothing; did you mean {meant!r}?')
    said = {name: value for name, value in config.to_dict().items() if name in RUNNER_KEYS}
    refuse_facts_in_sections(said)
    recipe = read_facts(config)
    result = Config(sections(recipe, said.get('model') or {}, processes), filename=config.filename)
    hooks = [*(said.pop('custom_hooks', None) or []), *(hook for hook in recipe.hooks.values() if hook is not None)]
    result.merge_from_dict(said)
    facts = {name: config[name] for name in config if name in FACTS - {'facts', 'steps'}}
    result.update(custom_hooks=hooks, recipe=facts, config_name=config.config_name)
    return result


def refuse_facts_in_sections(said: Mapping[str, Any]) -> None:
    """Refuse what sets in a section what a fact says; raises UserError that names the fact."""
    for place, fact in SAID_BY_FACTS.items():
        node: Any = said
        for name in place.split('.'):
            node = node.get(name) if isinstance(node, Mapping) else None
        if node is not None:
            raise UserError(f'{place}={node!r}: in this recipe it follows from a fact; set {fact} instead')


def sections(recipe: Recipe, model: Mapping[str, Any], processes: int) -> dict[str, Any]:
    """Return mmengine's sections for a recipe and its model, on so many processes."""
    kind = class_of(model, 'model')
    class_of(model.get('backbone') or {}, 'model.backbone')
    batch = shared(recipe.batch, processes, recipe.at_once or recipe.data.at_once, recipe.accumulate)
    views, data = views_of(recipe.views, recipe.data), recipe.data
    if not views:
        raise UserError('views names no view of an image; write views=dict(view1=dict(...), view2=dict(...))')
    size = max(view.size or data.size for view in views.values())
    patch = patch_of(model['backbone']) if needs_patches(recipe.views) else None
    chunked = isinstance(kind, type) and issubclass(kind, PatchSamplingLearner)
    loop = dict(type='ChunkedPretrainLoop' if chunked else 'PretrainLoop', max_epochs=recipe.schedule.epochs)
    found = dict(
        model=model_with(model, kind, size, {name: view.crops for name, view in views.items()}),
        data_preprocessor=preprocessor(data),
        train_dataloader=training_loader(recipe, batch, patch),
        train_cfg=dict(loop, val_interval=recipe.measure.every),
        optim_wrapper=wrapper(recipe.optimizer, batch),
        param_scheduler=schedules(recipe.schedule, recipe.optimizer),
    )
    return found | measured(recipe)


def class_of(part: Mapping[str, Any], place: str) -> Any:
    """Return the class or function that a part names; raises UserError, with a similar name, if there is none."""
    if 'type' not in part:
        raise UserError(f'{place} has no type')
    return found_type(part['type'], place)


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


def model_with(model: Mapping[str, Any], kind: Any, size: int, views: dict[str, int]) -> dict[str, Any]:
    """Return the config of a model that encodes images of a size, and has these views."""
    found = {**model, 'backbone': sized(model['backbone'], size)}
    if 'views' in keywords_of(kind) and [*views.items()] != [('view1', 1), ('view2', 1)]:
        found['views'] = views
    return found


def sized(backbone: Mapping[str, Any], size: int) -> dict[str, Any]:
    """Return the config of a backbone for images of a size, if its class asks for one and its config says none."""
    return {
        **(dict(img_size=size) if 'img_size' in keywords_of(class_of(backbone, 'model.backbone')) else {}),
        **backbone,
    }


def patch_of(backbone: Mapping[str, Any]) -> int | None:
    """Return the side in pixels of the patches of a backbone, which is built for it; None if it has none."""
    with undisturbed_generators(), as_user_error('model.backbone'):
        return plain_patch_size(build(MODELS, backbone))


def preprocessor(data: Data) -> dict[str, Any]:
    """Return the part that normalises images. Pipelines give colours in BGR order, other channels as in the file."""
    channels = any(isinstance(step, Mapping) and step.get('type') == 'LoadChannels' for step in data.read)
    return dict(type='mixcl.ViewPreprocessor', mean=list(data.mean), std=list(data.std), to_rgb=not channels)


def training_loader(recipe: Recipe, batch: Shared, patch: int | None) -> dict[str, Any]:
    """Return the loader of training images. The device does the colours, blurs and flips of views for a whole batch."""
    data = recipe.data
    images = part_of(data, 'train', training_pipeline(data, recipe.views, recipe.steps, patch))
    if data.share is not None:
        images = dict(type='LabelledSubset', share=data.share, dataset=images)
    keyed = dict(
        type='mixcl.KeyedDataset', views='device', dataset=images, **({'cache': data.cache} if data.cache else {})
    )
    sampler = dict(type='KeyedSampler', shuffle=True)
    if batch.accumulated > 1:
        sampler['multiple_of'] = batch.images  # epochs end with a step
    return dict(loader(data, batch.at_once, sampler, keyed), drop_last=True)


def measured(recipe: Recipe) -> dict[str, Any]:
    """Return the sections of kNN accuracy, which votes among the training images as they are."""
    data, measure = recipe.data, recipe.measure
    if data.splits.get('test') is None:
        return {f'{part}_{name}': None for part in ('val', 'test') for name in ('dataloader', 'cfg', 'evaluator')}
    found: dict[str, Any] = {}
    bank_split = 'bank' if 'bank' in data.splits else 'train'
    for part, neighbours in (('val', measure.neighbours), ('test', measure.tested)):
        queries, bank = (measured_loader(recipe, split) for split in ('test', bank_split))
        votes = dict(neighbours=tuple(neighbours), temperature=measure.temperature)
        found |= {
            f'{part}_dataloader': queries,
            f'{part}_cfg': dict(type='FeatureLoop', bank_dataloader=bank),
            f'{part}_evaluator': dict(type='KNNAccuracy', **votes),
        }
    return found


def measured_loader(recipe: Recipe, split: str) -> dict[str, Any]:
    """Return the loader of images as they are, of one part of the data."""
    images = part_of(recipe.data, split, evaluation_pipeline(recipe.data, recipe.steps))
    if recipe.data.files:  # so that an unreadable image does not end the evaluation
        images = dict(type='mixcl.KeyedDataset', dataset=images)
    sampler = dict(type='DefaultSampler', shuffle=False)
    return dict(loader(recipe.data, EVALUATED_AT_ONCE, sampler, images), drop_last=False)


def part_of(data: Data, split: str, pipeline: list[dict]) -> dict[str, Any]:
    """Return the config of a part of the images."""
    return {**data.images, **data.splits.get(split, {}), 'pipeline': pipeline}


def loader(data: Data, batch_size: int, sampler: dict, images: dict) -> dict[str, Any]:
    """Return what all loaders share."""
    workers = dict(num_workers=data.workers, persistent_workers=data.workers > 0, pin_memory=True)
    return dict(
        batch_size=batch_size, **workers, collate_fn=dict(type='default_collate'), sampler=sampler, dataset=images
    )


def wrapper(optimizer: Optimizer, batch: Shared) -> dict[str, Any]:
    """Return the section of the optimiser. Its rate grows linearly with the images of a step."""
    decay = optimizer.weight_decay
    start = decay if isinstance(decay, int | float) else decay[0]
    rule: dict[str, Any] = SPARED[optimizer.spare] or dict(custom_keys={})  # frozen parameters are left out
    found: dict[str, Any] = dict(type='OptimWrapper', constructor='FewGroupsConstructor', paramwise_cfg=rule)
    if optimizer.layer_decay is not None:
        found['constructor'] = 'LayerDecayConstructor'
        found['paramwise_cfg'] = dict(rule, layer_decay_rate=optimizer.layer_decay)
    rate = optimizer.lr * batch.images / PER
    found['optimizer'] = dict(type=optimizer.type, lr=rate, weight_decay=start, **optimizer.settings)
    if optimizer.clip is not None:
        found['clip_grad'] = dict(max_norm=optimizer.clip)
    if batch.accumulated > 1:
        found['accumulative_counts'] = batch.accumulated
    return found


def schedules(schedule: Schedule, optimizer: Optimizer) -> list[dict[str, Any]]:
    """Return the schedules of the learning rate, and of a weight decay that changes."""
    kind = PARAM_SCHEDULERS.get(schedule.type)
    if kind is None:
        raise UserError(f'schedule.type={schedule.type!r} is the name of no schedule')
    unit = dict(by_epoch=True, **(dict(convert_to_iter_based=True) if schedule.per == 'step' else {}))
    settings, found = dict(schedule.settings), []
    if 'warmup' in keywords_of(kind):
        settings['warmup'] = schedule.warmup
    elif schedule.warmup:
        start = dict(start_factor=settings.pop('start_factor')) if 'start_factor' in settings else {}
        found.append(dict(type='LinearLR', by_epoch=True, end=schedule.warmup, convert_to_iter_based=True, **start))
    found.append(dict(type=schedule.type, **settings, **unit))
    if not isinstance(optimizer.weight_decay, int | float):
        first, last = optimizer.weight_decay
        rise = dict(type='mmpretrain.CosineAnnealingWeightDecay', eta_min_ratio=last / first)
        found.append(dict(rise, by_epoch=True, convert_to_iter_based=True))
    return found
