"""What one config changes in another."""

from collections.abc import Mapping
from pathlib import Path as FilePath
from typing import Any

from mmengine.config import Config

from mixcl.configuration.paths import Path, children, readable


def base_of(path: str) -> dict[str, Any]:
    """The files that a config names as ``_base_``, merged; empty where it has none."""
    merged: dict[str, Any] = {}
    for base in Config._get_base_files(path):
        merged |= Config.fromfile(FilePath(path).parent / base).to_dict()
    return merged


def difference(base: Mapping[str, Any], changed: Mapping[str, Any]) -> list[str]:
    """List, sorted by place, what was added (+), removed (-) and changed (old -> new)."""
    before, after = _leaves(base), _leaves(changed)
    lines = []
    for path in sorted({*before, *after}, key=readable):
        if path not in before:
            lines.append(f'+ {readable(path)} = {after[path]!r}')
        elif path not in after:
            lines.append(f'- {readable(path)} = {before[path]!r}')
        elif before[path] != after[path]:
            lines.append(f'  {readable(path)}: {before[path]!r} -> {after[path]!r}')
    return lines


def _leaves(node: Any, path: Path = ()) -> dict[Path, Any]:
    below = list(children(node))
    if not below:
        return {path: node} if path else {}
    return {leaf: value for key, child in below for leaf, value in _leaves(child, (*path, key)).items()}
