"""Files that the values of a config come from."""

import os
from collections.abc import Iterator, Mapping
from pathlib import Path as FilePath
from typing import Any

from mmengine.config import Config

from mixcl.experiments.paths import Path, dotted
from mixcl.shipped import SCOPE, find_config

COMMAND_LINE = 'command line'


def origins(path: str | FilePath, cfg: Mapping[str, Any]) -> Iterator[str]:
    """Yield a line for each value of a config: its name for ``--cfg-options``, and the file that it comes from.

    A value is a leaf of nested dicts; a list is one value, since configs never merge lists. The file, relative to the
    config's folder, is the one furthest up the inheritance that has this very value; :data:`COMMAND_LINE` if none has.
    """
    path = find_config(path).resolve()
    stated = _stated(path)
    for place, value in _values({name: cfg[name] for name in cfg if name != 'config_name'}).items():
        said = place in stated and stated[place][0] == value
        file = os.path.relpath(stated[place][1], path.parent) if said else COMMAND_LINE
        yield f'{dotted(place)} = {value!r}  # {file}'


def _stated(path: FilePath) -> dict[Path, tuple[Any, FilePath]]:
    """Return every value of a config file, with the file that it comes from."""
    config = Config.fromfile(path, import_custom_modules=False).to_dict()
    stated = {place: (value, path) for place, value in _values(config).items()}
    for base in Config._get_base_files(str(path)):
        if '::' not in base or base.startswith(SCOPE):  # bases in other packages lie where these are installed
            inherited = _stated((find_config(base) if '::' in base else path.parent / base).resolve())
            stated |= {place: found for place, found in inherited.items() if stated.get(place, ())[:1] == found[:1]}
    return stated


def _values(node: Any, place: Path = ()) -> dict[Path, Any]:
    if not isinstance(node, Mapping) or not node:
        return {place: node}
    return {leaf: value for key, child in node.items() for leaf, value in _values(child, (*place, key)).items()}
