"""Where the data sets of a config lie: set it for all of them, and check it before any expensive work."""

from collections.abc import Iterator, Mapping
from pathlib import Path as FilePath
from typing import Any

from mmengine.config import Config

from mixcl.configuration.paths import Path, readable, runner_sections, walk
from mixcl.errors import UserError

DATA_SECTIONS = ('train_dataloader', 'val_dataloader', 'test_dataloader', 'train_cfg', 'val_cfg', 'test_cfg')
"""Where the Runner finds data sets; loops may have loaders of their own, such as the bank of a kNN evaluation."""

EVALUATOR_SECTIONS = ('val_evaluator', 'test_evaluator')
"""Where metrics are; those of detection read an annotation file that lies in a data set's root."""


def set_data_root(cfg: Config, root: str) -> None:
    """Set ``data_root`` of every data set in a config that has one, in place; metrics' annotation files follow.

    Raises:
        UserError: if no data set has a ``data_root``.
    """
    nodes = [node for _, node in _with_data_root(dict(runner_sections(cfg)))]
    if not nodes:
        raise UserError(f'--data-root {root}: no data set of this config reads a folder; leave the option out')
    for _, metric in walk({name: cfg[name] for name in EVALUATOR_SECTIONS if name in cfg}):
        if isinstance(metric, dict) and metric.get('ann_file'):
            metric['ann_file'] = _moved(metric['ann_file'], {str(node['data_root']) for node in nodes}, root)
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
        problem = folder_problem(FilePath(root)) if root and '://' not in str(root) else None
        if problem:
            place = f'{readable(path)}.data_root'
            raise UserError(f"the data folder '{root}' ({place}) {problem}; put the data there or pass --data-root DIR")


def _moved(file: str, old_roots: set[str], root: str) -> str:
    """The same file below another root, if it lies below one of the old ones."""
    for old in old_roots:
        if old and FilePath(file).is_relative_to(old):
            return str(FilePath(root) / FilePath(file).relative_to(old))
    return file


def data_sets(cfg: Config) -> Iterator[tuple[str, Any]]:
    """Yield the place and the config of every data set that a run will load."""
    for path, node in walk({name: cfg[name] for name in DATA_SECTIONS if name in cfg}):
        if path and path[-1] == 'dataset' and 'dataset' not in path[:-1] and isinstance(node, Mapping):
            yield readable(path), node


def _with_data_root(sections: Mapping[str, Any]) -> Iterator[tuple[Path, Any]]:
    return ((path, node) for path, node in walk(sections) if isinstance(node, Mapping) and 'data_root' in node)


def folder_problem(folder: FilePath) -> str | None:
    """What is wrong with a data folder, in words, or None."""
    if not folder.is_dir():
        return 'does not exist'
    return None if any(folder.iterdir()) else 'is empty'
