"""Errors of constructors name their place; schedules that do not fit are noted; differences of two configs."""

import copy
from pathlib import Path

import pytest
from mmengine.config import Config
from mmengine.registry import DefaultScope

from mixcl.engine.runners.dry_run import schedule_notes
from mixcl.errors import UserError
from mixcl.recipes.building import built_from, check_built
from mixcl.recipes.difference import differences
from mixcl.recipes.prepared import prepared
from mixcl.recipes.read_only import read_only
from mixcl.registry import MODELS

DIGITS = 'configs/patchmix/vit-xs4_digits.py'


def test_an_error_of_a_constructor_is_told_with_its_place() -> None:
    for change, message in (
        (dict(views=[1]), r'^model cannot be built: AttributeError: .*\(at .* in streams\.py'),
        (dict(neck=dict(hidden_channels='x')), '^model.neck cannot be built: TypeError'),
        (dict(backbone='resnet50'), '^model cannot be built: TypeError: cfg should be a dict'),
        (dict(target=dict(type='EMA', momentum=1.5)), '^EMA: momentum must be a number between 0 and 1, not 1.5'),
    ):
        cfg = copy.deepcopy(prepared(DIGITS))
        cfg.merge_from_dict(dict(model=change))
        with pytest.raises(UserError, match=message), DefaultScope.overwrite_default_scope('mixcl'), built_from(cfg):
            MODELS.build(cfg.copy().model)
    with pytest.raises(UserError, match=r'^the config cannot be built: ValueError: two lines'), built_from(Config()):
        raise ValueError('two\nlines')


def test_what_a_runner_builds_late_is_built_before_data_are_read(tmp_path: Path) -> None:
    cfg = copy.deepcopy(prepared(DIGITS))
    check_built(cfg)
    transform = 'train_dataloader.dataset.dataset.pipeline.1.transforms.0.0'
    photos = dict(
        _delete_=True,
        type='mmpretrain.CustomDataset',
        data_root=str(tmp_path),
        with_labels=1,
        pipeline=[dict(type='LoadImage')],
    )
    for place, value, message in (
        ('custom_hooks', [dict(type='BannerHook', x=1)], r'^custom_hooks\[0\] cannot be built: TypeError'),
        ('custom_hooks', [dict(x=1)], r"^custom_hooks\[0\]={'x': 1} must be a dict with a type$"),
        ('param_scheduler', [dict(end=1)], r"^param_scheduler\[0\]={'end': 1} must be a dict with a type$"),
        ('val_evaluator.weight', 1, '^val_evaluator cannot be built: TypeError: .*weight'),
        (
            f'{transform}.interpolate',
            1,
            r'pipeline\[1\].transforms\[0\]\[0\] cannot be built: TypeError: .*interpolate',
        ),
        ('optim_wrapper.optimizer.betas', (2, 2), '^optim_wrapper.optimizer cannot be built: ValueError: Invalid beta'),
        ('param_scheduler.0.warm', 1, r'^param_scheduler\[0\] cannot be built: TypeError: .*warm'),
        ('val_dataloader.dataset', photos, '^val_dataloader.dataset.* cannot be built'),
    ):
        changed = copy.deepcopy(cfg)
        changed.merge_from_dict({place: copy.deepcopy(value)})
        with pytest.raises(UserError, match=message):
            check_built(read_only(changed))


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
    (note,) = schedule_notes(Config(dict(train_cfg=dict(max_epochs=400), param_scheduler=schedules[:2])))
    assert note == 'the last param_scheduler ends after epoch 300 of 400; afterwards its values stay constant'
    assert schedule_notes(prepared(DIGITS)) == []


def test_the_difference_of_two_configs() -> None:
    found = differences(dict(a=1, b=[1, 2], c=dict(d=3), g=None), dict(a=1, b=(1, 5), e=dict(f=4)))
    assert [*map(str, found)] == [
        'b.1 was 2 and is 5 now',
        "c was {'d': 3} and is absent now",
        "e was absent and is {'f': 4} now",
    ]
