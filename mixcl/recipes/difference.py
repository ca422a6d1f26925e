"""Differences between two configs, and the files that the values of one come from."""

import os
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path as FilePath
from typing import Any, NamedTuple

from mmengine.config import Config

from mixcl.recipes.facts import FACTS
from mixcl.recipes.paths import Path, children, dotted
from mixcl.recipes.reading import data_file
from mixcl.shipped import SCOPE, find_config

ABSENT = object()

NOT_SETTINGS = ('config_name', 'recipe')
COMMAND_LINE, FROM_FACTS, DEFAULT = 'command line', 'follows from facts', 'default'


class Change(NamedTuple):
    """A value that differs from before; ``ABSENT`` where there is none. The path is written with dots."""

    path: str
    old: Any
    new: Any

    def __str__(self) -> str:
        texts = ('absent' if value is ABSENT else repr(value) for value in (self.old, self.new))
        old, new = (text if len(text) <= 100 else f'{text[:97]}...' for text in texts)
        return f'{self.path} was {old} and is {new} now'


def differences(old: Any, new: Any, path: Path = ()) -> Iterator[Change]:
    """Yield the values that two configs do not share; None counts as absent."""
    both = (old, new)
    if all(isinstance(value, Mapping) for value in both) or all(isinstance(value, (list, tuple)) for value in both):
        before, after = dict(children(old)), dict(children(new))
        for key in dict.fromkeys((*before, *after)):
            yield from differences(before.get(key, ABSENT), after.get(key, ABSENT), (*path, key))
    elif path[-1:] == ('type',) and {old, new} <= {'SyncBN', 'mixcl.SyncBatchNorm'}:
        return  # the same layer, for GPUs and for CPUs
    elif old != new and repr(old) != repr(new) and not all(value in (None, ABSENT) for value in both):
        yield Change(dotted(path), old, new)


def origins(path: str | FilePath, cfg: Mapping[str, Any], overrides: Collection[str] = ()) -> Iterator[str]:
    """Yield a line for each value of a config, facts first: its name for ``--cfg-options``, and where it comes from.

    A value is a leaf of nested dicts; a list is one value, since configs never merge lists. The file, relative to the
    config's folder, is the one furthest up the inheritance that has this very value. If none has, the value is made of
    facts (:data:`FROM_FACTS`), one of the ``overrides`` (:data:`COMMAND_LINE`), or a fact's default.
    """
    path = find_config(path).resolve()
    stated, facts = _stated(path), cfg.get('recipe') or {}
    for place, value in _values({**facts, **{name: cfg[name] for name in cfg if name not in NOT_SETTINGS}}).items():
        if place in stated and stated[place][0] == value:
            origin = os.path.relpath(stated[place][1], path.parent)
        else:
            is_option = not facts or dotted(place).startswith((*overrides,))
            origin = COMMAND_LINE if is_option else DEFAULT if place[0] in FACTS else FROM_FACTS
        yield f'{dotted(place)} = {value!r}  # {origin}'


def _stated(path: FilePath) -> dict[Path, tuple[Any, FilePath]]:
    """Return every value of a config file, with the file that it comes from."""
    config = Config.fromfile(path, import_custom_modules=False).to_dict()
    stated = {place: (value, path) for place, value in _values(config).items()}
    if config.get('facts') and isinstance(config.get('data'), str):
        of_data = _stated(data_file(config['data'], path.parent).resolve())
        stated |= {place: found for place, found in of_data.items() if place[0] == 'data'}
    for base in Config._get_base_files(str(path)):
        if '::' not in base or base.startswith(SCOPE):  # bases in other packages lie where these are installed
            inherited = _stated((find_config(base) if '::' in base else path.parent / base).resolve())
            stated |= {place: found for place, found in inherited.items() if stated.get(place, ())[:1] == found[:1]}
    return stated


def _values(node: Any, place: Path = ()) -> dict[Path, Any]:
    if not isinstance(node, Mapping) or not node:
        return {place: node}
    return {leaf: value for key, child in node.items() for leaf, value in _values(child, (*place, key)).items()}
