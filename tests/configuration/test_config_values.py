"""Values that no constructor refuses, errors of constructors, missing files, schedules, and differences."""

from pathlib import Path

import pytest
from mmengine.config import Config
from mmengine.registry import DefaultScope

from mixcl.configuration import built_from, check_files, check_metric_files, schedule_notes
from mixcl.configuration.origin import base_of, difference
from mixcl.configuration.values import wrong_values
from mixcl.engine.runners.launch import read_config
from mixcl.errors import UserError
from mixcl.registry import MODELS

DIGITS = 'configs/patchmix/vit-xs4_digits.py'


@pytest.mark.parametrize(
    ('override', 'message'),
    [
        ({'train_dataloader.batch_size': 0}, 'train_dataloader.batch_size=0 must be a whole number at least 1'),
        ({'train_dataloader.batch_size': '64'}, "train_dataloader.batch_size='64' must be a whole number at least 1"),
        ({'default_hooks.checkpoint.interval': 0}, 'interval=0 must be a whole number at least 1, or -1 for never'),
        ({'model.backbone.arch.num_headss': 4}, "arch has an unknown key 'num_headss'.*did you mean 'num_heads'"),
        ({'model.backbone.arch.num_heads': 5}, 'arch.num_heads=5 must be a divisor of embed_dims=96'),
    ],
)
def test_values_that_cannot_be_meant(override: dict, message: str) -> None:
    with pytest.raises(UserError, match=message):
        read_config(DIGITS, override)


def test_ranges_of_numbers() -> None:
    wrong = dict(val_interval=[0, 1.5, float('inf'), float('nan')], interval=[0, -2], num_workers=[-1, '2'])
    wrong |= dict(drop_path_rate=[-0.1, 1.5], max_norm=[0, -1.0])
    right = dict(val_interval=[1, 2.0, None, [2.0]], interval=[-1, 3], num_workers=[0], drop_path_rate=[0, 1])
    right |= dict(max_norm=[0.1, float('inf')], unknown=[-5, 'text'])
    for key, values in wrong.items():
        assert all(list(wrong_values({key: value})) for value in values), key
    for key, values in right.items():
        assert not any(list(wrong_values({key: value})) for value in values), key


@pytest.mark.parametrize(
    ('change', 'message'),
    [
        (dict(swap_views=[1]), r"^model cannot be built: TypeError: '<=' .*\(at .* in streams\.py"),
        (dict(target=dict(type='EMA', momentum='x')), '^model.target cannot be built: TypeError'),
        (dict(backbone='resnet50'), '^model cannot be built: TypeError: cfg should be a dict'),
        (dict(target=dict(type='EMA', momentum=1.5)), '^EMA: momentum must lie between 0 and 1, not 1.5'),
    ],
)
def test_an_error_of_a_constructor_is_told_with_its_place(change: dict, message: str) -> None:
    cfg = read_config(DIGITS)
    cfg.merge_from_dict(dict(model=change))
    with pytest.raises(UserError, match=message), DefaultScope.overwrite_default_scope('mixcl'), built_from(cfg):
        MODELS.build(cfg.copy().model)


def test_an_error_of_no_part_of_the_config() -> None:
    with pytest.raises(UserError, match=r'^the config cannot be built: ValueError: two lines'), built_from(Config()):
        raise ValueError('two\nlines')


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


def test_schedules_that_do_not_fit() -> None:
    schedules = [
        dict(type='LinearLR', begin=0, end=10, by_epoch=True),
        dict(type='CosineAnnealingLR', begin=10, end=300, T_max=100, by_epoch=True),
        dict(type='MultiStepLR', milestones=[50, 120], by_epoch=True),
        dict(type='WarmupCosineLR', warmup=100, by_epoch=True),
        dict(type='LinearLR', begin=0, end=5000, by_epoch=False),
    ]
    assert schedule_notes(Config(dict(train_cfg=dict(max_epochs=100), param_scheduler=schedules))) == [
        f'param_scheduler[{place}, but the run has 100 epochs (train_cfg.max_epochs)'
        for place in (
            '1] (CosineAnnealingLR) has end=300',
            '2] (MultiStepLR) has milestones=[50, 120]',
            '3] (WarmupCosineLR) has warmup=100',
        )
    ]
    assert [
        note.partition(',')[0]
        for note in schedule_notes(Config(dict(train_cfg=dict(max_iters=20), param_scheduler=schedules[-1])))
    ] == ['param_scheduler[0] (LinearLR) has end=5000']
    assert schedule_notes(read_config(DIGITS)) == []


def test_the_difference_to_the_base() -> None:
    assert difference(dict(a=1, b=[1, 2], c=dict(d=3)), dict(a=1, b=[1, 5], e=dict(f=None))) == [
        '  b[1]: 2 -> 5',
        '- c.d = 3',
        '+ e.f = None',
    ]
    changed = difference(base_of(DIGITS), read_config(DIGITS).to_dict())
    assert any('model.' in line for line in changed)
    assert not any('default_scope' in line for line in changed)
