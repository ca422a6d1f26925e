"""Sections of a config that are no dict, or no list of dicts, where mmengine can read nothing else."""

from collections.abc import Iterator, Mapping
from typing import Any

from mmengine.config import Config

from mixcl.configuration.paths import Path, runner_sections, walk

DICTS = ('data_preprocessor', 'default_hooks', 'env_cfg', 'model', 'optim_wrapper', 'randomness', 'visualizer')
"""Besides the sections whose names end in ``_cfg`` or ``_dataloader``."""

LISTS = ('custom_hooks', 'param_scheduler', 'val_evaluator', 'test_evaluator')
"""Lists of dicts; all but the first may be a single dict."""

TYPED = ('default_hooks', 'custom_hooks', 'param_scheduler')
"""Each of their dicts says what it builds."""


def wrong_shapes(cfg: Config) -> Iterator[tuple[Path, Any, str]]:
    """Yield what has a wrong shape: where it stands, its value, and what it must be, in words."""
    for name, section in runner_sections(cfg):
        if section is None:
            continue
        is_list = isinstance(section, (list, tuple))
        if name in LISTS and not is_list and (name == LISTS[0] or not isinstance(section, Mapping)):
            yield (name,), section, 'a list of dicts'
        elif (name in DICTS or name.endswith(('_cfg', '_dataloader'))) and not isinstance(section, Mapping):
            yield (name,), section, 'a dict'
        elif name in TYPED:
            single = name == 'param_scheduler' and not is_list
            parts = enumerate(section) if is_list else [(None, section)] if single else section.items()
            for key, part in parts:
                typed = isinstance(part, Mapping) and 'type' in part
                if not typed and not (part is None and name == 'default_hooks'):
                    yield (name,) if key is None else (name, key), part, 'a dict with a type'
        elif name.endswith('_dataloader'):
            yield from _wrong_data((name,), section)


def _wrong_data(place: Path, loader: Mapping[str, Any]) -> Iterator[tuple[Path, Any, str]]:
    if 'dataset' in loader and not isinstance(loader['dataset'], Mapping):  # recipes get theirs later
        yield (*place, 'dataset'), loader['dataset'], 'a dict'
    for path, node in walk(loader, place):
        if path[-1] == 'pipeline' and (not isinstance(node, (list, tuple)) or len(node) == 0):
            yield path, node, 'a list of transforms, at least one'
