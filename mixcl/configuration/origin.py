"""Where the values of a config come from, and a config as a file that says so."""

import keyword
import os
from collections.abc import Mapping
from pathlib import Path as FilePath
from typing import Any

from mmengine.config import Config

from mixcl.configuration.paths import RUNNER_KEYS, Path

COMMAND_LINE = 'command line'
LINE = 100
"""Characters that a line of a printed config may have before its comment."""


def origins(path: str | FilePath, cfg: Mapping[str, Any]) -> dict[Path, str]:
    """Which file each value of a config comes from, for a file that was read and may have been overridden since.

    A value is a leaf of nested dicts; a list is one value, since configs replace lists and never merge them. The file
    is the one furthest up the inheritance that has this very value.

    Args:
        path: of the config file.
        cfg: its resolved content, with what the command line changed.

    Returns:
        Where each value comes from, by its place: a path relative to the folder of the config's file, or
        :data:`COMMAND_LINE`.
    """
    path = FilePath(path)
    stated = _stated(path)
    missing = object()
    found = {}
    for place, value in _values(cfg).items():
        old, file = stated.get(place, (missing, path))
        same = old is not missing and old == value
        found[place] = os.path.relpath(file, path.resolve().parent) if same else COMMAND_LINE
    return found


def as_file(cfg: Config, origin: Mapping[Path, str] | None = None) -> str:
    """A config as the text of a config file; what the Runner reads comes first, then the config's own variables.

    Args:
        cfg: the config.
        origin: of :func:`origins`; written behind each value, or behind a dict whose values all come from one file.
    """
    content = cfg.to_dict()
    read = [name for name in content if name in RUNNER_KEYS]
    own = [name for name in content if name not in RUNNER_KEYS]
    lines = [line for name in read for line in _written(content[name], (name,), f'{name} = ', '', '', origin or {})]
    lines.append('# Variables of the config files.')
    lines += [line for name in own for line in _written(content[name], (name,), f'{name} = ', '', '', origin or {})]
    return '\n'.join(lines) + '\n'


def _stated(path: FilePath) -> dict[Path, tuple[Any, FilePath]]:
    """Every value of a config file, with the file that it comes from."""
    path = path.resolve()
    stated = {place: (value, path) for place, value in _values(Config.fromfile(path).to_dict()).items()}
    for base in Config._get_base_files(str(path)):
        if '::' not in base:  # of another package, read from where that is installed
            inherited = _stated(path.parent / base)
            stated |= {place: found for place, found in inherited.items() if stated.get(place, ())[:1] == found[:1]}
    return stated


def _values(node: Any, place: Path = ()) -> dict[Path, Any]:
    if not isinstance(node, Mapping) or not node:
        return {place: node}
    return {leaf: value for key, child in node.items() for leaf, value in _values(child, (*place, key)).items()}


def _written(node: Any, place: Path, start: str, end: str, indent: str, origin: Mapping[Path, str]) -> list[str]:
    """The lines of one value, the first of them begun by ``start``."""
    files = {origin[at] for at in _values(node, place) if at in origin}
    comment = f'  # {files.pop()}' if len(files) == 1 else ''
    line = f'{indent}{start}{_inline(node)}{end}'
    if (not files and len(line) <= LINE) or not isinstance(node, (Mapping, list, tuple)):
        return [line + comment]
    if comment:
        origin = {}  # said once for all that is inside
    opening, closing = _brackets(node)
    children = zip(_starts(node), node, node.values() if isinstance(node, Mapping) else node, strict=True)
    inner = f'{indent}    '
    below = [
        line
        for index, (begun, key, child) in enumerate(children)
        for line in _written(child, (*place, key if isinstance(node, Mapping) else index), begun, ',', inner, origin)
    ]
    return [f'{indent}{start}{opening}{comment}', *below, f'{indent}{closing}{end}']


def _inline(node: Any) -> str:
    if not isinstance(node, (Mapping, list, tuple)):
        return repr(node)
    opening, closing = _brackets(node)
    values = node.values() if isinstance(node, Mapping) else node
    items = [start + _inline(value) for start, value in zip(_starts(node), values, strict=True)]
    return opening + ', '.join(items) + (',' if isinstance(node, tuple) and len(node) == 1 else '') + closing


def _brackets(node: Any) -> tuple[str, str]:
    if isinstance(node, Mapping):
        return ('dict(', ')') if all(_is_keyword(key) for key in node) else ('{', '}')
    return ('[', ']') if isinstance(node, list) else ('(', ')')


def _starts(node: Any) -> list[str]:
    """What is written before each child of a dict, list or tuple."""
    if not isinstance(node, Mapping):
        return [''] * len(node)
    plain = all(_is_keyword(key) for key in node)
    return [f'{key}=' if plain else f'{key!r}: ' for key in node]


def _is_keyword(key: Any) -> bool:
    return isinstance(key, str) and key.isidentifier() and not keyword.iskeyword(key)
