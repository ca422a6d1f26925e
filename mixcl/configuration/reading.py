"""Config files: programs in Python, or data in YAML and JSON, of which nothing is run."""

import json
from collections.abc import Mapping
from pathlib import Path as FilePath

import yaml  # type: ignore[import-untyped]
from mmengine.config import Config

from mixcl.configuration.paths import readable, walk
from mixcl.configuration.types import SCOPES, is_registered
from mixcl.errors import UserError

PARSERS = {'.json': json.loads, '.yaml': yaml.safe_load, '.yml': yaml.safe_load}


def bases_of(path: str | FilePath) -> list[str]:
    """What a config in Python names as ``_base_``; others have none."""
    return [] if FilePath(path).suffix in PARSERS else Config._get_base_files(str(path))


def config_from_file(path: str | FilePath) -> Config:
    """Read a config file, without a look at its keys; its ``custom_imports`` are left to the caller.

    mmengine reads YAML by a loader that calls whatever function the file names, and runs what ``_base_`` and
    ``custom_imports`` name.

    Raises:
        UserError: if one in YAML or JSON names another file, a module, or a ``type`` that no registry knows.
        Exception: whatever a parser or a config in Python raises.
    """
    parser = PARSERS.get(FilePath(path).suffix)
    if parser is None:
        return Config.fromfile(path, import_custom_modules=False)
    values = parser(FilePath(path).read_text(encoding='utf-8'))
    if not isinstance(values, dict):
        raise UserError(f'the config {path} holds no names with values, but a {type(values).__name__}')
    for place, node in walk(values):
        for key, value in node.items() if isinstance(node, Mapping) else ():
            if key in ('_base_', 'custom_imports') or (key in ('_scope_', 'default_scope') and value not in SCOPES):
                reason = 'names another file or module'
            elif key == 'type' and '.' in str(value) and not is_registered(str(value)):
                reason = 'no registry knows'
            else:
                continue
            name = readable((*place, key))
            raise UserError(
                f'the config {path} has {name}={value!r}, which {reason}: write it in Python, as a .py file'
            )
    return Config(values, filename=str(path))
