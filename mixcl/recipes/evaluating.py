"""Mmengine's sections of an evaluation, made of its facts."""

import copy
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from mixcl.errors import UserError, as_user_error
from mixcl.randomness import undisturbed_generators
from mixcl.recipes import sections
from mixcl.recipes.facts import EvaluatedView, EvaluationRecipe
from mixcl.recipes.paths import holder_of_backbone
from mixcl.recipes.pipelines import augmented_pipeline, evaluated_view, evaluation_pipeline
from mixcl.registry import MODELS, build, keywords_of
from mixcl.weights import load_pretrained
from mixcl.weights.pretrained import PretrainedBackbone


def evaluation_sections(recipe: EvaluationRecipe, said: Mapping[str, Any], processes: int) -> dict[str, Any]:
    """Return mmengine's sections for a recipe, on so many processes; ``said`` has the model and the metrics.

    A model with a head is a classifier: it is trained if the recipe has a schedule, and tested. Of all others features
    are measured, those of the training images (the bank) and of the test images.
    """
    evaluated, model = recipe.evaluated, copy.deepcopy(dict(said.get('model') or {}))
    for name in ('backbone', *({'head'} & model.keys())):
        if not isinstance(model.get(name), Mapping):
            raise UserError(f'model.{name}={model.get(name)!r} must be a dict')
    holder = holder_of_backbone(model)
    if 'type' not in holder['backbone'] and evaluated.backbone:
        holder['backbone'] = {**evaluated.backbone, **holder['backbone']}
    if recipe.statistics == 'own' and evaluated.own:
        recipe = replace(recipe, data=replace(recipe.data, **evaluated.own))
    data, view = recipe.data, evaluated_view(recipe)
    pipeline = evaluation_pipeline(data, recipe.steps, view)
    pipeline[-1] |= evaluated.pack
    tested, metrics = sections.tested_loader(data, 'test', pipeline), copy.deepcopy(said.get('test_evaluator'))
    if isinstance(metrics, dict) and 'topk' in metrics:  # no more guesses than classes
        given = metrics['topk'] if isinstance(metrics['topk'], list | tuple) else [metrics['topk']]
        metrics['topk'] = tuple(k for k in given if k <= evaluated.classes) or (1,)
    result = dict(model=model, test_dataloader=tested, test_evaluator=metrics)
    if 'head' not in model:
        tested['persistent_workers'] = False  # it is read once
        bank = dict(sections.tested_loader(data, 'train', pipeline), persistent_workers=False)
        model['backbone'] = sections.sized(model['backbone'], view.size)
        result |= dict(
            data_preprocessor=sections.preprocessor(data), test_cfg=dict(type='FeatureLoop', bank_dataloader=bank)
        )
    else:
        _fit_classifier(model, view.size, evaluated.classes)
        normalised = sections.preprocessor(data, 'mixcl.ClassifierViewPreprocessor', num_classes=evaluated.classes)
        result |= dict(data_preprocessor=normalised, test_cfg=dict(type='TestLoop'))
    trained = _trained(recipe, view, processes)
    if trained and 'head' in model:
        result |= dict(trained, val_dataloader=tested, val_cfg=dict(type='ValLoop'))
    if trained and 'val_evaluator' not in said:
        result['val_evaluator'] = metrics
    return result


def _trained(recipe: EvaluationRecipe, view: EvaluatedView, processes: int) -> dict[str, Any]:
    """Return the sections of the training of a classifier; none for a protocol that trains nothing.

    Too few processes accumulate gradients. That changes batch normalisation in training, whose statistics are those of
    the images seen at once, and Mixup, CutMix and drop path, which draw anew for these images. Epochs end with a step.
    """
    schedule, optimizer, size = recipe.schedule, recipe.optimizer, recipe.batch
    if schedule is None or optimizer is None or size is None:
        if schedule or optimizer or size:
            raise UserError('schedule, optimizer and batch belong together: a protocol that trains has all of them')
        return {}
    batch = sections.shared(
        size, processes, recipe.at_once or max(size // recipe.evaluated.processes, 1), accumulates=True
    )
    sampler = dict(type='KeyedSampler', shuffle=True, multiple_of=batch.images)
    if recipe.repeats > 1:
        sampler |= dict(type='RepeatedKeyedSampler', repeats=recipe.repeats)
    return dict(
        train_dataloader=sections.training_loader(recipe.data, batch, augmented_pipeline(recipe, view), sampler),
        train_cfg=dict(type='KeyedTrainLoop', max_epochs=schedule.epochs, val_interval=recipe.measure.every),
        optim_wrapper=sections.wrapper(optimizer, batch),
        param_scheduler=sections.schedules(schedule, optimizer),
    )


def _fit_classifier(model: dict[str, Any], size: int, classes: int) -> None:
    """Fit a classifier's backbone to images of a size, and its head to backbone and classes; else UserError."""
    holder, head = holder_of_backbone(model), model['head']
    holder['backbone'] = sections.sized(holder['backbone'], size)
    channels = channels_of(holder, size)
    head.setdefault('num_classes', classes)
    if 'size' in keywords_of(sections.class_of(model, 'model')):
        model.setdefault('size', size)
    given = head.setdefault('in_channels', channels[0] if len(channels) == 1 else channels)
    if tuple(given if isinstance(given, list | tuple) else (given,)) != channels:
        raise UserError(
            f'the heads of this evaluation expect features with {given} channels, but the backbone gives {channels}: '
            'choose another `recipe` or `recipe_config` for it'
        )


def channels_of(
    holder: Mapping[str, Any], size: int | tuple[int, int], pretrained: PretrainedBackbone | None = None
) -> tuple[int, ...]:
    """Return the numbers of channels of the features of a config with a backbone, which is built.

    Raises:
        UserError: if the backbone cannot be built or encode images of the size, or the weights do not fit.
    """
    sections.class_of(holder['backbone'], 'model.backbone')
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
