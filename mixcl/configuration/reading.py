"""Config files, which are programs in Python."""

from pathlib import Path as FilePath

from mmengine.config import Config

from mixcl.errors import UserError


def config_from_file(path: str | FilePath) -> Config:
    """Read a config file, without a look at its keys; its ``custom_imports`` are left to the caller.

    Raises:
        UserError: if it is not one in Python: mmengine reads YAML by a loader that calls whatever function it names.
        Exception: whatever a config raises.
    """
    if FilePath(path).suffix != '.py':
        raise UserError(f'the config {path} is no .py file; write it in Python')
    return Config.fromfile(path, import_custom_modules=False)
