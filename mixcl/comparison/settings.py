"""Settings in which runs differ."""

from collections.abc import Mapping
from typing import Any

from mmengine.config import Config

from mixcl.engine.runners.same_run import HARMLESS_CHANGES, IGNORED_CHANGES
from mixcl.recipes.paths import children, runner_sections, walk

SEED = 'randomness.seed'
OF_IMAGES = ('data_root', 'source', 'labels')
"""Settings that a run may continue with, since images may move, but that two runs may differ in."""


def settings_of(config: Config) -> dict[str, Any]:
    """Return what decides the result of a run, but for its seed, by dotted names."""
    return {
        name: value
        for name, value in _leaves(dict(runner_sections(config)), '')
        if value is not None and name != SEED and not IGNORED_CHANGES.match(name)
        if not HARMLESS_CHANGES.match(name) or (name.startswith('train_') and name.rpartition('.')[2] in OF_IMAGES)
    }


def _leaves(node: Any, name: str) -> list[tuple[str, Any]]:
    """List values by dotted names; a list without dicts is one value."""
    if isinstance(node, Mapping) or any(isinstance(value, Mapping) for _, value in walk(node)):
        return [leaf for key, child in children(node) for leaf in _leaves(child, f'{name}.{key}'.lstrip('.'))]
    return [(name, node)]


def differing(settings: Mapping[str, Mapping[str, Any]]) -> dict[str, dict[str, Any]]:
    """Return by setting the value of each run, None where there is none, unless all have the same."""
    names = dict.fromkeys(name for of_run in settings.values() for name in of_run)
    values = {name: {run: of_run.get(name) for run, of_run in settings.items()} for name in names}
    return {name: of_runs for name, of_runs in values.items() if len({*map(repr, of_runs.values())}) > 1}
