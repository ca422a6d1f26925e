"""The one maker of configs: mmengine's sections, made of the facts of a recipe."""

from collections.abc import Mapping
from typing import Any

from mmengine.config import Config

from mixcl.errors import UserError
from mixcl.recipes.evaluating import evaluation_sections, evaluators
from mixcl.recipes.facts import FACTS, EvaluationRecipe, read_facts
from mixcl.recipes.paths import RUNNER_KEYS
from mixcl.recipes.pretraining import pretraining_sections

SAID_BY_FACTS = {
    'auto_scale_lr': 'batch',
    'model.views': 'views',
    'optim_wrapper.accumulative_counts': 'accumulate',
    'optim_wrapper.optimizer': 'optimizer (its lr is for 256 images)',
    'train_cfg.max_epochs': 'schedule.epochs',
    'train_cfg.val_interval': 'measure.every',
    'train_dataloader.batch_size': 'batch',
}
"""Settings of sections that follow from facts, which are to be changed instead."""


NOT_KEPT = {'evaluated', 'facts', 'protocol', 'steps', 'variants'}
"""Facts that a run does not store, since they say nothing about it, or stand in the made config itself."""


def has_facts(config: Mapping[str, Any]) -> bool:
    """Whether a config says facts, and not mmengine's sections alone."""
    return bool(config.get('facts'))


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
    model = said.get('model') or {}
    if isinstance(recipe, EvaluationRecipe):
        result = Config(dict(evaluation_sections(recipe, model, processes), protocol=recipe.protocol))
        said = {**evaluators(recipe, said), 'model': {}}  # the model is whole
    else:
        result = Config(pretraining_sections(recipe, model, processes))
    hooks = [*(said.pop('custom_hooks', None) or []), *(hook for hook in recipe.hooks.values() if hook is not None)]
    result.merge_from_dict(said)
    facts = {name: config[name] for name in config if name in FACTS - NOT_KEPT}
    result.update(custom_hooks=hooks, recipe=facts, config_name=config.config_name)
    return Config(result._cfg_dict, filename=config.filename)


def refuse_facts_in_sections(said: Mapping[str, Any]) -> None:
    """Refuse what sets in a section what a fact says; raises UserError that names the fact."""
    for place, fact in SAID_BY_FACTS.items():
        node: Any = said
        for name in place.split('.'):
            node = node.get(name) if isinstance(node, Mapping) else None
        if node is not None:
            raise UserError(f'{place}={node!r}: in this recipe it follows from a fact; set {fact} instead')
