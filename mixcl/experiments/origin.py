"""Where the values of a config come from, and a config as a file that says so."""

import keyword
import os
from collections.abc import Iterator, Mapping
from pathlib import Path as FilePath
from pprint import pformat
from typing import Any

from mmengine.config import Config

from mixcl.experiments.paths import RUNNER_KEYS, Path
from mixcl.shipped import SCOPE, find_config

COMMAND_LINE = 'command line'


def origins(path: str | FilePath, cfg: Mapping[str, Any]) -> dict[Path, str]:
    """Which file each value of a config comes from, by its place, relative to its folder, or :data:`COMMAND_LINE`.

    A value is a leaf of nested dicts; a list is one value, since configs never merge lists. The file is the one
    furthest up the inheritance that has this very value.
    """
    path = find_config(path).resolve()
    stated = _stated(path)
    return {
        place: os.path.relpath(stated[place][1], path.parent)
        if place in stated and stated[place][0] == value
        else COMMAND_LINE
        for place, value in _values(cfg).items()
    }


def as_file(cfg: Config, origin: Mapping[Path, str] | None = None) -> str:
    """A config as the text of a config file, with its origin behind each value.

    What the Runner reads comes first, then the config's own variables.
    """
    content = cfg.to_dict()
    names = sorted(content, key=lambda name: name not in RUNNER_KEYS)
    lines = [line for name in names for line in _written(f'{name} = ', content[name], '', (name,), origin or {})]
    return '\n'.join([*lines, ''])


def base_of(path: str) -> dict[str, Any]:
    """The files that a config names as ``_base_``, merged; empty where it has none."""
    merged: dict[str, Any] = {}
    file = find_config(path)
    for base in Config._get_base_files(str(file)):
        merged |= Config.fromfile(Config._get_cfg_path(base, str(file))[0]).to_dict()
    return merged


def _stated(path: FilePath) -> dict[Path, tuple[Any, FilePath]]:
    """Every value of a config file, with the file that it comes from."""
    config = Config.fromfile(path, import_custom_modules=False).to_dict()
    stated = {place: (value, path) for place, value in _values(config).items()}
    for base in Config._get_base_files(str(path)):
        if '::' not in base or base.startswith(SCOPE):  # those of other packages lie where these are installed
            inherited = _stated((find_config(base) if '::' in base else path.parent / base).resolve())
            stated |= {place: found for place, found in inherited.items() if stated.get(place, ())[:1] == found[:1]}
    return stated


def _values(node: Any, place: Path = ()) -> dict[Path, Any]:
    if not isinstance(node, Mapping) or not node:
        return {place: node}
    return {leaf: value for key, child in node.items() for leaf, value in _values(child, (*place, key)).items()}


def _written(start: str, node: Any, end: str, place: Path, origin: Mapping[Path, str]) -> Iterator[str]:
    """The lines of one value: its name, itself, what ends it, and its files as a comment."""
    if isinstance(node, Mapping) and node and all(map(_is_argument, node)):
        yield f'{start}dict('
        for key, child in node.items():
            yield from (f'    {line}' for line in _written(f'{key}=', child, ',', (*place, key), origin))
        yield f'){end}'
    else:
        files = ', '.join(sorted({origin[leaf] for leaf in _values(node, place) if leaf in origin}))
        text = start + pformat(node, width=100, sort_dicts=False).replace('\n', '\n' + ' ' * len(start)) + end
        yield from (f'{text}  # {files}' if files else text).splitlines()


def _is_argument(key: Any) -> bool:
    return isinstance(key, str) and key.isidentifier() and not keyword.iskeyword(key)
