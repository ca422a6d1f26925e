"""Files that a config names."""

from collections.abc import Mapping
from pathlib import Path

from mmengine.config import Config

from mixcl.configuration.paths import readable, runner_sections, walk
from mixcl.errors import UserError


def check_files(cfg: Config) -> None:
    """Check that the weights which a config names exist; remote addresses are left to their readers.

    Raises:
        UserError: names the first file that is missing, and its place in the config.
    """
    for path, node in walk(dict(runner_sections(cfg))):
        if isinstance(node, Mapping) and node.get('type') == 'Pretrained' and node.get('checkpoint'):
            _check(str(node['checkpoint']), f'{readable(path)}.checkpoint')
    if cfg.get('load_from'):
        _check(str(cfg.load_from), 'load_from')


def _check(file: str, place: str) -> None:
    if '://' not in file and not Path(file).expanduser().is_file():
        raise UserError(f'there is no checkpoint file {file} ({place}); correct the path')
