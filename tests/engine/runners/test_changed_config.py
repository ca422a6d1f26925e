"""What a resumed run may change, and that what changes takes effect."""

from pathlib import Path

import pytest
import torch
from engine.tiny_runs import BATCH_SIZE, run_config, trained
from mmengine.runner import Runner

from mixcl.engine.runners import changed_config
from mixcl.engine.runners.changed_config import NewSettingsHook, check_changes
from mixcl.engine.runners.launch import build_runner
from mixcl.errors import UserError
from mixcl.weights.stored_config import stored_config


def lines(folder: Path, before: int = 1, **changes: object) -> list[str]:
    old = stored_config(dict(state_dict={}, meta=dict(cfg=run_config(folder).pretty_text)), 'a file')
    return [*map(str, check_changes(old, run_config(folder / 'new', **changes), before, 'epoch_1.pth', allow=False))]


def test_what_does_not_change_the_computation_is_told(tmp_path: Path) -> None:
    assert lines(tmp_path, resume=True) == []
    for name, value in dict(
        train_cfg__max_epochs=9,
        train_dataloader__num_workers=3,
        default_hooks__logger__interval=7,
        default_hooks__nonfinite__policy='skip',
        train_dataloader__dataset__dataset__data_root='elsewhere',
        visualizer__vis_backends=[],
    ).items():
        (line,) = lines(tmp_path, **{name: value})
        assert name.replace('__', '.') in line
    assert 'schedules follow' in lines(tmp_path, train_cfg__max_epochs=9)[0]


@pytest.mark.parametrize(
    'name, value',
    [
        ('optim_wrapper__optimizer__weight_decay', 0.5),
        ('optim_wrapper__optimizer__type', 'SGD'),
        ('param_scheduler', []),
        ('model__mixer__num_mix', 2),
        ('train_dataloader__batch_size', 4),
        ('train_dataloader__dataset__dataset__indices', 39),
        ('train_dataloader__dataset__dataset__pipeline', []),
        ('randomness__seed', 1),
        ('custom_hooks', [dict(type='AdaptiveClipHook')]),
    ],
)
def test_what_changes_the_computation_is_refused(tmp_path: Path, name: str, value: object) -> None:
    with pytest.raises(UserError, match=name.split('__')[0]) as error:
        lines(tmp_path, **{name: value})
    assert '--allow-changes' in str(error.value) and 'epoch_1.pth' in str(error.value)


def test_processes_may_change_where_the_global_batch_does_not(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert len(lines(tmp_path, before=2, train_dataloader__batch_size=2 * BATCH_SIZE)) == 1
    with pytest.raises(UserError, match='number of processes'):
        lines(tmp_path, before=2)
    monkeypatch.setattr(changed_config, 'get_world_size', lambda: 4)
    assert lines(tmp_path, before=2, train_dataloader__batch_size=BATCH_SIZE // 2)


def resumed(folder: Path, **changes: object) -> Runner:
    runner = build_runner(run_config(folder, resume=True, **changes), allow_changes=True)
    runner.train()
    return runner


def test_a_longer_run_is_on_the_longer_schedules(tmp_path: Path) -> None:
    """Also those of mmengine, whose values follow from the one before."""
    schedules = dict(
        param_scheduler=[
            dict(type='LinearLR', start_factor=0.1, by_epoch=False, end=3),
            dict(type='CosineAnnealingLR', by_epoch=True, begin=1, convert_to_iter_based=True),
            dict(type='mmpretrain.CosineAnnealingWeightDecay', eta_min_ratio=10, by_epoch=True),
        ]
    )
    for number, settings in enumerate((dict(), schedules)):
        folder = tmp_path / str(number)
        whole = trained(run_config(folder / 'whole', train_cfg__max_epochs=4, **settings))
        trained(run_config(folder / 'run', **settings))
        longer = resumed(folder / 'run', train_cfg__max_epochs=4, **settings)
        for name in ('lr', 'weight_decay'):
            values = [runner.message_hub.get_scalar(f'train/{name}').data[0][-10:] for runner in (whole, longer)]
            assert values[0].tolist() == pytest.approx(values[1].tolist())


def test_harmless_changes_leave_the_optimiser_alone(tmp_path: Path) -> None:
    trained(run_config(tmp_path, train_cfg__max_epochs=1))
    runner = build_runner(run_config(tmp_path, resume=True, train_cfg__max_epochs=1, default_hooks__logger__interval=3))
    assert not any(isinstance(hook, NewSettingsHook) for hook in runner.hooks)


def test_another_batch_begins_at_a_whole_epoch(tmp_path: Path) -> None:
    trained(run_config(tmp_path, train_cfg__max_epochs=1))
    runner = resumed(tmp_path, train_dataloader__batch_size=4, randomness__seed=1)
    assert (runner.epoch, runner.iter, runner.seed) == (2, 20, 1)


def test_allowed_changes_take_effect(tmp_path: Path) -> None:
    trained(run_config(tmp_path, train_cfg__max_epochs=1))
    lr = 2 * run_config(tmp_path).optim_wrapper.optimizer.lr
    changes = dict(optim_wrapper__optimizer__weight_decay=0.5, optim_wrapper__optimizer__lr=lr)
    group = resumed(tmp_path, **changes).optim_wrapper.optimizer.param_groups[0]
    assert group['initial_lr'] == lr
    assert group['initial_weight_decay'] == 0.5
    assert group['weight_decay'] > 0.5  # by the schedule


def test_another_optimiser_starts_anew(tmp_path: Path) -> None:
    trained(run_config(tmp_path, train_cfg__max_epochs=1))
    optimizer = dict(_delete_=True, type='SGD', lr=0.1, momentum=0.9)
    runner = resumed(tmp_path, optim_wrapper__optimizer=optimizer)
    state = next(iter(runner.optim_wrapper.optimizer.state.values()))
    assert isinstance(runner.optim_wrapper.optimizer, torch.optim.SGD)
    assert list(state) == ['momentum_buffer']
