"""Check of the places of a config's data, annotations and weights, before any expensive work."""

from collections.abc import Iterator, Mapping
from filecmp import cmp
from pathlib import Path as FilePath
from typing import Any

from mmengine.config import Config

from mixcl.errors import UserError
from mixcl.recipes.paths import Path, innermost, kind_of, readable, runner_sections, walk
from mixcl.weights.encoder import RANDOM
from mixcl.weights.named import PUBLISHED

DATA_SECTIONS = ('train_dataloader', 'val_dataloader', 'test_dataloader', 'train_cfg', 'val_cfg', 'test_cfg')
"""Sections with data sets. Loops may have loaders of their own, such as the bank of a kNN evaluation."""

EVALUATOR_SECTIONS = ('val_evaluator', 'test_evaluator')
"""Sections with metrics. Those of detection read an annotation file in a data set's root."""


def check_data_roots(cfg: Config) -> None:
    """Check that the folders of all data sets that a run will load exist and are not empty.

    Empty values and remote addresses (``s3://...``) are left to the data sets.

    Raises:
        UserError: names the first folder that is missing or empty, or file of CIFAR that is missing.
    """
    for path, node in with_data_root({name: cfg[name] for name in DATA_SECTIONS if name in cfg}):
        root, place = node['data_root'], f'{readable(path)}.data_root'
        if not root or '://' in str(root):
            continue
        problem = 'is empty' if FilePath(root).is_dir() else 'does not exist'
        if problem == 'does not exist' or not any(FilePath(root).iterdir()):
            raise UserError(f"the data folder '{root}' ({place}) {problem}; put the data there or pass `data_root=DIR`")
        if kind_of(node) in ('CIFAR10', 'CIFAR100') and not node.get('download'):
            from mmpretrain import datasets  # which only advises to download them

            kind = getattr(datasets, kind_of(node))
            for file in (FilePath(root, kind.base_folder, name) for name, _ in (*kind.train_list, *kind.test_list)):
                if not file.is_file():
                    raise UserError(
                        f'there is no file {file} ({place}); unpack {kind.url} there or pass `data_root=DIR`'
                    )


def check_files(cfg: Config) -> None:
    """Check that the weights a config names exist, except remote ones; raises UserError for the first missing file."""
    _check_file(cfg.get('load_from'), 'load_from', 'checkpoint file', 'correct the path')
    for path, node in walk(dict(runner_sections(cfg))):
        if isinstance(node, Mapping) and node.get('type') == 'Pretrained':
            _check_file(node.get('checkpoint'), f'{readable(path)}.checkpoint', 'checkpoint file', 'correct the path')
    target = (cfg.get('model') or {}).get('target') or {}
    if kind_of(target) == 'Teacher' and cfg.get('train_cfg'):
        if not (name := target.get('pretrained')):
            raise UserError('model.target says no weights of its teacher: write pretrained=..., or give `teacher`')
        if name != RANDOM and not str(name).startswith(PUBLISHED) and not FilePath(name).expanduser().is_dir():
            _check_file(name, 'model.target.pretrained', 'file of weights', 'give another by `teacher`')


def check_metric_files(cfg: Config, section: str) -> None:
    """Check the annotation files of the metrics in ``'val_evaluator'`` or ``'test_evaluator'``.

    The Runner would open them only after the images, and mmdet compares them with the results of a validation.

    Raises:
        UserError: for the first file that is missing, or has other contents than that of the images.
    """
    name = section.replace('evaluator', 'dataloader')
    images = innermost(cfg.get(name) or {})
    of_images = FilePath(images.get('data_root') or '', images.get('ann_file') or '')
    for path, node in walk(cfg.get(section), (section,)):
        if isinstance(node, Mapping) and node.get('ann_file'):
            file, place = node['ann_file'], f'{readable(path)}.ann_file'
            _check_file(file, place, 'annotation file', 'put it there or pass `data_root=DIR`')
            if of_images.is_file() and '://' not in file and not cmp(file, of_images, shallow=False):
                raise UserError(
                    f'{place}={file!r} is not the annotation file of {name}, {of_images}: give both the same, or leave '
                    f'the one in {section} out (None)'
                )


def _check_file(file: str | None, place: str, kind: str, advice: str) -> None:
    if file and '://' not in str(file) and not FilePath(file).expanduser().is_file():
        raise UserError(f'there is no {kind} {file} ({place}); {advice}')


def data_sets(cfg: Config) -> Iterator[Any]:
    """Yield the config of every data set that a run will load."""
    for path, node in walk({name: cfg[name] for name in DATA_SECTIONS if name in cfg}):
        if path[-1:] == ('dataset',) and 'dataset' not in path[:-1] and isinstance(node, Mapping):
            yield node


def with_data_root(sections: Mapping[str, Any]) -> Iterator[tuple[Path, Any]]:
    """Yield the place and the config of every data set that has a root."""
    return ((path, node) for path, node in walk(sections) if isinstance(node, Mapping) and 'data_root' in node)
