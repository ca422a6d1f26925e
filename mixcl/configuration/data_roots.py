"""Where the data sets of a config lie: set it for all of them, and check it before any expensive work."""

from collections.abc import Iterator, Mapping
from pathlib import Path as FilePath
from typing import Any

from mmengine.config import Config

from mixcl.configuration.paths import Path, readable, runner_sections, walk
from mixcl.errors import UserError

DATA_SECTIONS = ('train_dataloader', 'val_dataloader', 'test_dataloader', 'train_cfg', 'val_cfg', 'test_cfg')
"""Where the Runner finds data sets; loops may have loaders of their own, such as the bank of a kNN evaluation."""


def set_data_root(cfg: Config, root: str) -> None:
    """Set ``data_root`` of every data set in a config that has one, in place.

    Raises:
        UserError: if no data set has a ``data_root``.
    """
    nodes = [node for _, node in _with_data_root(dict(runner_sections(cfg)))]
    if not nodes:
        raise UserError(f'--data-root {root}: no data set of this config reads a folder; leave the option out')
    for node in nodes:
        node['data_root'] = root


def check_data_roots(cfg: Config) -> None:
    """Check that the folders of all data sets that a run will load exist and hold something.

    Empty values and remote addresses (``s3://...``) are left to the data sets.

    Raises:
        UserError: names the first folder that is missing or empty, and its place in the config.
    """
    for path, node in _with_data_root({name: cfg[name] for name in DATA_SECTIONS if name in cfg}):
        root = node['data_root']
        if root and '://' not in str(root):
            _check_folder(FilePath(root), f'{readable(path)}.data_root')


def _with_data_root(sections: Mapping[str, Any]) -> Iterator[tuple[Path, Any]]:
    return ((path, node) for path, node in walk(sections) if isinstance(node, Mapping) and 'data_root' in node)


def _check_folder(folder: FilePath, place: str) -> None:
    advice = 'put the data there or pass --data-root DIR'
    if not folder.is_dir():
        raise UserError(f"the data folder '{folder}' ({place}) does not exist; {advice}")
    if not any(folder.iterdir()):
        raise UserError(f"the data folder '{folder}' ({place}) is empty; {advice}")
