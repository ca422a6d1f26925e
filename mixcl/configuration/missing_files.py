"""Weights and annotation files that a config names and that do not exist."""

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
            _check(node['checkpoint'], f'{readable(path)}.checkpoint')
    if cfg.get('load_from'):
        _check(cfg.load_from, 'load_from')


def check_metric_files(cfg: Config, section: str) -> None:
    """Check that the annotation files which metrics read exist; the Runner would open them only after the images.

    Args:
        cfg: the whole config.
        section: whose metrics, ``'val_evaluator'`` or ``'test_evaluator'``.

    Raises:
        UserError: names the first file that is missing, and its place in the config.
    """
    for path, node in walk(cfg.get(section), (section,)):
        if isinstance(node, Mapping) and node.get('ann_file'):
            advice = 'put it there or pass --data-root DIR'
            _check(node['ann_file'], f'{readable(path)}.ann_file', 'annotation file', advice)


def _check(file: str | Path, place: str, kind: str = 'checkpoint file', advice: str = 'correct the path') -> None:
    if '://' not in str(file) and not Path(file).expanduser().is_file():
        raise UserError(f'there is no {kind} {file} ({place}); {advice}')
