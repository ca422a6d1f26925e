"""The one maker of configs: mmengine's sections, made of the facts of a recipe."""

from collections.abc import Mapping
from typing import Any

from mmengine.config import Config

from mixcl.algorithms import PatchSamplingLearner
from mixcl.errors import UserError
from mixcl.recipes import sections
from mixcl.recipes.evaluating import evaluation_sections
from mixcl.recipes.facts import FACTS, EvaluationRecipe, Recipe, read_facts
from mixcl.recipes.overrides import refuse_facts_in_sections
from mixcl.recipes.paths import RUNNER_KEYS
from mixcl.recipes.pipelines import evaluation_pipeline, training_pipeline, views_of
from mixcl.recipes.typed import suggested
from mixcl.registry import keywords_of

NOT_KEPT = {'evaluated', 'facts', 'protocol', 'steps', 'variants'}
"""Facts that a run does not store, since they say nothing about it, or stand in the made config itself."""


def made(config: Config, processes: int) -> Config:
    """Return the config that mmengine runs: the sections that follow from facts, and on top those of the config itself.

    The facts themselves are kept as ``recipe``.

    Raises:
        UserError: if a fact is wrong, or a section sets what a fact says.
    """
    if not isinstance(config.get('custom_hooks') or [], list | tuple):
        raise UserError(f'custom_hooks={config.custom_hooks!r} must be a list of dicts')
    said = {name: value for name, value in config.to_dict().items() if name in RUNNER_KEYS}
    refuse_facts_in_sections(said)
    recipe = read_facts(config)
    _check_hooks(recipe.hooks)
    hooks = [*(said.pop('custom_hooks', None) or []), *(hook for hook in recipe.hooks.values() if hook is not None)]
    if isinstance(recipe, EvaluationRecipe):
        result = Config(dict(evaluation_sections(recipe, said, processes), protocol=recipe.protocol))
        said = {name: value for name, value in said.items() if name not in ('model', 'test_evaluator')}
    else:
        result = Config(pretraining_sections(recipe, said.get('model') or {}, processes))
    result.merge_from_dict(said)
    facts = {name: config[name] for name in config if name in FACTS - NOT_KEPT}
    result.update(custom_hooks=hooks, recipe=facts, config_name=config.config_name)
    return Config(result._cfg_dict, filename=config.filename)


def _check_hooks(hooks: Mapping[str, Any]) -> None:
    for name, hook in hooks.items():
        if hook is not None and not (isinstance(hook, Mapping) and 'type' in hook):
            others = hooks.keys() - {name}
            near = suggested(name, others) if others else ''
            raise UserError(f'hooks.{name}={hook!r}: the recipe has no hook {name!r}, and a new one needs a type{near}')


def pretraining_sections(recipe: Recipe, model: Mapping[str, Any], processes: int) -> dict[str, Any]:
    """Return mmengine's sections for a recipe and its model, on so many processes."""
    kind, data, views = sections.class_of(model, 'model'), recipe.data, views_of(recipe)
    sections.class_of(model.get('backbone'), 'model.backbone')
    batch = sections.shared(recipe.batch, processes, recipe.at_once or data.at_once, recipe.accumulate)
    sampler = dict(type='KeyedSampler', shuffle=True)
    if batch.accumulated > 1:
        sampler['multiple_of'] = batch.images  # epochs end with a step
    cuts = recipe.views.get('type') or recipe.views.get('after')  # transforms that cut images into patches
    pipeline = training_pipeline(recipe, views, sections.patch_of(model['backbone']) if cuts else None)
    size = max(view.size or data.size for view in views.values())
    model = {**model, 'backbone': sections.sized(model['backbone'], size)}
    if model.get('target'):
        model['target'] = sections.taught(model['target'], size)
    crops = {name: view.crops for name, view in views.items()}
    if 'views' in keywords_of(kind) and [*crops.items()] != [('view1', 1), ('view2', 1)]:
        model['views'] = crops
    chunked = isinstance(kind, type) and issubclass(kind, PatchSamplingLearner)
    loop = dict(type='ChunkedPretrainLoop' if chunked else 'PretrainLoop', max_epochs=recipe.schedule.epochs)
    return dict(
        model=model,
        data_preprocessor=sections.preprocessor(data),
        train_dataloader=sections.training_loader(data, batch, pipeline, sampler),
        train_cfg=dict(loop, val_interval=recipe.measure.every),
        optim_wrapper=sections.wrapper(recipe.optimizer, batch),
        param_scheduler=sections.schedules(recipe.schedule, recipe.optimizer),
        **_measured(recipe),
    )


def _measured(recipe: Recipe) -> dict[str, Any]:
    """Return the sections of kNN accuracy, which votes among the training images as they are."""
    data, measure = recipe.data, recipe.measure
    if data.splits.get('test') is None:
        return {f'{prefix}_{name}': None for prefix in ('val', 'test') for name in ('dataloader', 'cfg', 'evaluator')}
    result: dict[str, Any] = {}
    pipeline = evaluation_pipeline(data, recipe.steps)
    for prefix, neighbours in (('val', measure.neighbours), ('test', measure.tested)):
        bank = sections.tested_loader(data, 'bank' if 'bank' in data.splits else 'train', pipeline)
        votes = dict(neighbours=tuple(neighbours), temperature=measure.temperature)
        result |= {
            f'{prefix}_dataloader': sections.tested_loader(data, 'test', pipeline),
            f'{prefix}_cfg': dict(type='FeatureLoop', bank_dataloader=bank),
            f'{prefix}_evaluator': dict(type='KNNAccuracy', **votes),
        }
    return result
