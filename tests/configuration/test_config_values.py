"""Values that cannot be meant: types, ranges, sizes of transformers, files, schedules."""

from collections.abc import Sequence
from pathlib import Path
from typing import Literal, Optional, Union

import pytest
from mmengine.config import Config

from mixcl.configuration import check_config, check_files, check_metric_files, schedule_notes
from mixcl.configuration.annotations import annotations_of, expected_type
from mixcl.configuration.difference import base_of, difference
from mixcl.configuration.ranges import expected_range
from mixcl.engine.runners.launch import read_config
from mixcl.errors import UserError

DIGITS = 'configs/patchmix/vit-xs4_digits.py'


@pytest.mark.parametrize(
    ('override', 'message'),
    [
        ({'train_dataloader.batch_size': 0}, 'train_dataloader.batch_size=0 must be a whole number at least 1'),
        (
            {'train_dataloader.batch_size': '64'},
            "train_dataloader.batch_size='64' must be a whole number at least 1, not a text",
        ),
        ({'train_dataloader.batch_size': 1.5}, 'batch_size=1.5 must be a whole number at least 1'),
        ({'train_cfg.val_interval': 0}, 'train_cfg.val_interval=0 must be a whole number at least 1'),
        ({'default_hooks.logger.interval': 0}, 'logger.interval=0 must be a whole number at least 1, or -1 for never'),
        ({'train_dataloader.num_workers': -1}, 'num_workers=-1 must be a number 0 or more'),
        ({'optim_wrapper.optimizer.lr': -1e-3}, 'optim_wrapper.optimizer.lr=-0.001 must be a number 0 or more'),
        ({'optim_wrapper.optimizer.lr': float('nan')}, 'lr=nan must be'),
        ({'train_cfg.max_epochs': 0}, 'train_cfg.max_epochs=0 must be a whole number at least 1'),
        ({'model.target.momentum': 1.5}, 'model.target.momentum=1.5 must be a number between 0 and 1'),
        ({'model.target.final_momentum': 'one'}, "model.target.final_momentum='one' must be a number"),
        ({'model.mixer.num_mix': 2.5}, 'model.mixer.num_mix=2.5 must be a whole number at least 1'),
        ({'model.swap_views': [1]}, 'model.swap_views=\\[1\\] must be a number'),
        ({'model.terms': 3}, 'model.terms=3 must be a list'),
        (
            {'model.backbone.arch.num_headss': 4},
            "model.backbone.arch has an unknown key 'num_headss'.*did you mean 'num_heads'",
        ),
        ({'default_hooks.nonfinite.policy': 3}, 'default_hooks.nonfinite.policy=3 must be a text'),
    ],
)
def test_values_that_cannot_be_meant(override: dict, message: str) -> None:
    with pytest.raises(UserError, match=message):
        read_config(DIGITS, override)


@pytest.mark.parametrize(
    ('value', 'hint', 'expected'),
    [
        (1, int, None),
        (1, float, None),
        (True, int, 'an integer'),
        (1.0, int, 'an integer'),
        ('a', int | None, 'an integer or None'),
        (None, Optional[int], None),  # noqa: UP045
        (None, int, 'an integer'),
        (3, Union[int, str], None),  # noqa: UP007
        (3, Sequence[int], 'a list'),
        ('view1', Sequence[str], None),
        ((1, 2), list[int], None),
        ({}, int, 'an integer'),
        (dict(type='X'), int, None),
        ('x', Literal['a', 'b'], "typing.Literal['a', 'b']"),
        (3, Path, None),
        (1, bool, None),
        (2, bool, 'True or False'),
    ],
)
def test_types(value: object, hint: object, expected: str | None) -> None:
    assert expected_type(value, hint) == expected


def test_annotations_go_through_the_bases_and_know_none() -> None:
    class Base:
        def __init__(self, size: int = None, name: 'str' = '') -> None: ...  # noqa: RUF013

    class Derived(Base):
        def __init__(self, share: float, **kwargs) -> None: ...

    found = annotations_of(Derived)
    assert set(found) == {'share', 'size'}
    assert expected_type(None, found['size']) is None
    assert expected_type('a', found['size']) == 'an integer or None'


def test_ranges_judge_numbers_only() -> None:
    assert expected_range('prob', 1.2) and not expected_range('prob', 1)
    assert expected_range('prob', [2.0]) is None
    assert expected_range('unknown', -5) is None


def test_files_that_are_missing(tmp_path: Path) -> None:
    init = dict(type='Pretrained', checkpoint=str(tmp_path / 'a.pth'))
    cfg = Config(dict(model=dict(type='X', backbone=dict(type='Y', init_cfg=init))))
    with pytest.raises(UserError, match=r'a\.pth \(model.backbone.init_cfg.checkpoint\)'):
        check_files(cfg)
    (tmp_path / 'a.pth').touch()
    check_files(cfg)
    with pytest.raises(UserError, match=r'b\.pth \(load_from\)'):
        check_files(Config(dict(load_from=str(tmp_path / 'b.pth'))))
    check_files(Config(dict(load_from='https://example.org/b.pth')))


def test_annotation_files_of_metrics_that_are_missing(tmp_path: Path) -> None:
    metric, other = (dict(type='CocoMetric', ann_file=str(tmp_path / name)) for name in ('a.json', 'b.json'))
    cfg = Config(dict(val_evaluator=[dict(type='X'), metric], test_evaluator=other))
    with pytest.raises(UserError, match=r'annotation file \S+/a\.json \(val_evaluator\[1\]\.ann_file\); put it there'):
        check_metric_files(cfg, 'val_evaluator')
    (tmp_path / 'a.json').touch()
    check_metric_files(cfg, 'val_evaluator')
    check_metric_files(Config(), 'val_evaluator')
    with pytest.raises(UserError, match=r'b\.json \(test_evaluator\.ann_file\)'):
        check_metric_files(cfg, 'test_evaluator')


def test_schedules_that_do_not_fit() -> None:
    schedules = [
        dict(type='LinearLR', begin=0, end=10, by_epoch=True),
        dict(type='CosineAnnealingLR', begin=10, end=300, T_max=290, by_epoch=True),
        dict(type='MultiStepLR', milestones=[50, 120], by_epoch=True),
        dict(type='WarmupCosineLR', warmup=100, by_epoch=True),
        dict(type='LinearLR', begin=0, end=5000, by_epoch=False),
    ]
    notes = schedule_notes(Config(dict(train_cfg=dict(max_epochs=100), param_scheduler=schedules)))
    assert [note.partition(', but')[0] for note in notes] == [
        'param_scheduler[1] (CosineAnnealingLR) has end=300',
        'param_scheduler[1] (CosineAnnealingLR) has T_max=290',
        'param_scheduler[2] (MultiStepLR) has milestones=[120]',
        'param_scheduler[3] (WarmupCosineLR) has warmup=100',
    ]
    assert schedule_notes(read_config(DIGITS)) == []


def test_schedules_in_steps_are_compared_with_runs_in_steps() -> None:
    schedules = [
        dict(type='LinearLR', end=100, by_epoch=False),
        dict(type='MultiStepLR', milestones=[18, 24], by_epoch=False),
        dict(type='CosineAnnealingLR', end=300),
    ]
    assert schedule_notes(Config(dict(train_cfg=dict(max_iters=20), param_scheduler=schedules))) == [
        'param_scheduler[0] (LinearLR) has end=100, but the run has 20 iters (train_cfg.max_iters)',
        'param_scheduler[1] (MultiStepLR) has milestones=[24], but the run has 20 iters (train_cfg.max_iters)',
    ]


def test_the_difference_to_the_base() -> None:
    assert difference(dict(a=1, b=[1, 2], c=dict(d=3)), dict(a=1, b=[1, 5], e=dict(f=None))) == [
        '  b[1]: 2 -> 5',
        '- c.d = 3',
        '+ e.f = None',
    ]
    changed = difference(base_of(DIGITS), read_config(DIGITS).to_dict())
    assert any(line.startswith('+ model.mixer') or 'model.' in line for line in changed)
    assert not any('default_scope' in line for line in changed)


def test_every_config_of_the_repository_passes() -> None:
    for path in sorted(Path('configs').glob('[!_]*/*.py')):
        check_config(Config.fromfile(path))
