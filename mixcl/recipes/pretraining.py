"""Mmengine's sections of a pretraining, made of its facts."""

from collections.abc import Mapping
from typing import Any

from mixcl.algorithms import PatchSamplingLearner
from mixcl.errors import UserError
from mixcl.recipes.facts import Recipe
from mixcl.recipes.pipelines import evaluation_pipeline, needs_patches, training_pipeline, views_of
from mixcl.recipes.sections import (
    class_of,
    patch_of,
    preprocessor,
    schedules,
    shared,
    sized,
    tested_loader,
    training_loader,
    wrapper,
)
from mixcl.registry import keywords_of


def pretraining_sections(recipe: Recipe, model: Mapping[str, Any], processes: int) -> dict[str, Any]:
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
    sampler = dict(type='KeyedSampler', shuffle=True)
    if batch.accumulated > 1:
        sampler['multiple_of'] = batch.images  # epochs end with a step
    pipeline = training_pipeline(data, recipe.views, recipe.steps, patch)
    loop = dict(type='ChunkedPretrainLoop' if chunked else 'PretrainLoop', max_epochs=recipe.schedule.epochs)
    found = dict(
        model=model_with(model, kind, size, {name: view.crops for name, view in views.items()}),
        data_preprocessor=preprocessor(data),
        train_dataloader=training_loader(data, batch, pipeline, sampler),
        train_cfg=dict(loop, val_interval=recipe.measure.every),
        optim_wrapper=wrapper(recipe.optimizer, batch),
        param_scheduler=schedules(recipe.schedule, recipe.optimizer),
    )
    return found | measured(recipe)


def model_with(model: Mapping[str, Any], kind: Any, size: int, views: dict[str, int]) -> dict[str, Any]:
    """Return the config of a model that encodes images of a size, and has these views."""
    found = {**model, 'backbone': sized(model['backbone'], size)}
    if 'views' in keywords_of(kind) and [*views.items()] != [('view1', 1), ('view2', 1)]:
        found['views'] = views
    return found


def measured(recipe: Recipe) -> dict[str, Any]:
    """Return the sections of kNN accuracy, which votes among the training images as they are."""
    data, measure = recipe.data, recipe.measure
    if data.splits.get('test') is None:
        return {f'{part}_{name}': None for part in ('val', 'test') for name in ('dataloader', 'cfg', 'evaluator')}
    found: dict[str, Any] = {}
    pipeline = evaluation_pipeline(data, recipe.steps)
    bank_split = 'bank' if 'bank' in data.splits else 'train'
    for part, neighbours in (('val', measure.neighbours), ('test', measure.tested)):
        queries, bank = (tested_loader(data, split, pipeline) for split in ('test', bank_split))
        votes = dict(neighbours=tuple(neighbours), temperature=measure.temperature)
        found |= {
            f'{part}_dataloader': queries,
            f'{part}_cfg': dict(type='FeatureLoop', bank_dataloader=bank),
            f'{part}_evaluator': dict(type='KNNAccuracy', **votes),
        }
    return found
