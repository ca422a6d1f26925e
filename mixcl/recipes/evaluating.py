"""Mmengine's sections of an evaluation, made of its facts."""

import copy
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from mixcl.errors import UserError, as_user_error
from mixcl.randomness import undisturbed_generators
from mixcl.recipes.facts import EvaluatedView, EvaluationRecipe, Optimizer, Schedule
from mixcl.recipes.paths import holder_of_backbone
from mixcl.recipes.pipelines import augmented_pipeline, evaluated_view, evaluation_pipeline
from mixcl.recipes.sections import (
    class_of,
    preprocessor,
    schedules,
    shared,
    sized,
    tested_loader,
    training_loader,
    wrapper,
)
from mixcl.registry import MODELS, build
from mixcl.weights import load_pretrained
from mixcl.weights.pretrained import PretrainedBackbone


def evaluation_sections(recipe: EvaluationRecipe, model: Mapping[str, Any], processes: int) -> dict[str, Any]:
    """Return mmengine's sections for a recipe and its model, on so many processes.

    A model with a head is a classifier: it is trained if the recipe has a schedule, and tested. Of all others features
    are measured, those of the training images (the bank) and of the test images.
    """
    data, evaluated = recipe.data, recipe.evaluated
    if len({recipe.schedule is None, recipe.optimizer is None, recipe.batch is None}) > 1:
        raise UserError('schedule, optimizer and batch belong together: a protocol that trains has all, another none')
    for name in ('backbone', *({'head'} & model.keys())):
        if not isinstance(model.get(name), Mapping):
            raise UserError(f'model.{name}={model.get(name)!r} must be a dict')
    model = copy.deepcopy(dict(model))
    holder = holder_of_backbone(model)
    if 'type' not in holder['backbone'] and evaluated.backbone:
        holder['backbone'] = {**evaluated.backbone, **holder['backbone']}
    if recipe.statistics == 'own' and evaluated.own:
        data = replace(data, **evaluated.own)
    view = evaluated_view(evaluated, data, recipe.views)
    pipeline = evaluation_pipeline(data, recipe.steps, view, evaluated.pack)
    tested = tested_loader(data, 'test', pipeline)
    if 'head' not in model:
        tested['persistent_workers'] = False  # it is read once
        bank = dict(tested_loader(data, 'train', pipeline), persistent_workers=False)
        measured = dict(type='FeatureLoop', bank_dataloader=bank)
        model = dict(model, backbone=sized(model['backbone'], view.size))
        return dict(model=model, data_preprocessor=preprocessor(data), test_dataloader=tested, test_cfg=measured)
    normalised = preprocessor(data, 'mixcl.ClassifierViewPreprocessor', num_classes=evaluated.classes)
    found = dict(
        model=classifier(model, view.size, evaluated.classes),
        data_preprocessor=normalised,
        test_dataloader=tested,
        test_cfg=dict(type='TestLoop'),
    )
    if recipe.schedule is None or recipe.optimizer is None or recipe.batch is None:
        return found
    validated = dict(val_dataloader=tested, val_cfg=dict(type='ValLoop'))
    return found | validated | trained(recipe, view, recipe.schedule, recipe.optimizer, recipe.batch, processes)


def trained(
    recipe: EvaluationRecipe, view: EvaluatedView, schedule: Schedule, optimizer: Optimizer, size: int, processes: int
) -> dict[str, Any]:
    """Return the sections of the training of a classifier with batches of a size.

    Too few processes accumulate gradients. That changes batch normalisation in training, whose statistics are those of
    the images seen at once, and Mixup, CutMix and drop path, which draw anew for these images. Epochs end with a step.
    """
    batch = shared(size, processes, recipe.at_once or max(size // recipe.evaluated.processes, 1), accumulates=True)
    sampler = dict(type='KeyedSampler', shuffle=True, multiple_of=batch.images)
    if recipe.repeats > 1:
        sampler |= dict(type='RepeatedKeyedSampler', repeats=recipe.repeats)
    pipeline = augmented_pipeline(recipe.data, view, recipe.steps)
    return dict(
        train_dataloader=training_loader(recipe.data, batch, pipeline, sampler),
        train_cfg=dict(type='KeyedTrainLoop', max_epochs=schedule.epochs, val_interval=recipe.measure.every),
        optim_wrapper=wrapper(optimizer, batch),
        param_scheduler=schedules(schedule, optimizer),
    )


def evaluators(recipe: EvaluationRecipe, said: Mapping[str, Any]) -> dict[str, Any]:
    """Return the sections of metrics; no more guesses count than there are classes, and validation is like the test."""
    tested = copy.deepcopy(said.get('test_evaluator'))
    if isinstance(tested, dict) and 'topk' in tested:
        given = tested['topk'] if isinstance(tested['topk'], list | tuple) else [tested['topk']]
        tested['topk'] = tuple(k for k in given if k <= recipe.evaluated.classes) or (1,)
    validated = {} if recipe.schedule is None else dict(val_evaluator=tested)
    return dict(validated, **said) | dict(test_evaluator=tested)


def classifier(model: Mapping[str, Any], size: int, classes: int) -> dict[str, Any]:
    """Return the config of a classifier of images of a size, whose head fits the classes and the backbone.

    Raises:
        UserError: if the backbone cannot be built, or the head is said to have another number of channels.
    """
    found = dict(model, head=dict(model['head']))
    holder, head = holder_of_backbone(found), found['head']
    holder['backbone'] = sized(holder['backbone'], size)
    channels = channels_of(holder, size)
    head.setdefault('num_classes', classes)
    given = head.setdefault('in_channels', channels[0] if len(channels) == 1 else channels)
    if tuple(given if isinstance(given, list | tuple) else (given,)) != channels:
        raise UserError(
            f'the heads of this evaluation expect features with {given} channels, but the backbone gives {channels}: '
            'choose another `recipe` or `recipe_config` for it'
        )
    return found


def channels_of(
    holder: Mapping[str, Any], size: int | tuple[int, int], pretrained: PretrainedBackbone | None = None
) -> tuple[int, ...]:
    """Return the numbers of channels of the features of a config with a backbone, which is built.

    Raises:
        UserError: if the backbone cannot be built or encode images of the size, or the weights do not fit.
    """
    class_of(holder['backbone'], 'model.backbone')
    settings = dict(type='FrozenFeatures', backbone=holder['backbone'], feature=holder.get('feature'))
    with undisturbed_generators(), as_user_error(f'the backbone {holder["backbone"]["type"]}'):
        features = build(MODELS, settings)
    if pretrained is not None:
        load_pretrained(features, pretrained)
    try:
        return tuple(features.channels(size))
    except (AssertionError, RuntimeError) as error:
        raise UserError(
            f'a {type(features.backbone).__name__} cannot encode images of {size} pixels, which this evaluation has '
            f'({" ".join(str(error).split())}): choose data of its own size, or for a model of timm set '
            'dynamic_img_size=True in the config that `config` names'
        ) from error
