"""Settings that change in a resumed run take effect."""

from pathlib import Path

import pytest
import torch
from engine.tiny_runs import run_config, trained
from mmengine.runner import Runner

from mixcl.engine.hooks.new_settings import NewSettingsHook
from mixcl.engine.runners.launch import build_runner


def resumed(folder: Path, **changes: object) -> Runner:
    runner = build_runner(run_config(folder, resume=True, **changes), allow_changes=True)
    runner.train()
    return runner


def test_a_longer_run_is_on_the_longer_schedules(tmp_path: Path) -> None:
    """This holds for mmengine's schedules, too, whose values follow from the one before."""
    schedules = dict(
        param_scheduler=[
            dict(type='LinearLR', start_factor=0.1, by_epoch=False, end=3),
            dict(type='CosineAnnealingLR', by_epoch=True, begin=1, convert_to_iter_based=True),
            dict(type='mmpretrain.CosineAnnealingWeightDecay', eta_min_ratio=10, by_epoch=True),
        ]
    )
    # The checkpoint is written after all steps of an epoch, but before the epoch ends.
    by_steps = dict(default_hooks__checkpoint__by_epoch=False, default_hooks__checkpoint__interval=10)
    for number, settings in enumerate((dict(), schedules, schedules | by_steps)):
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
    runner = resumed(tmp_path, train_dataloader__batch_size=4)
    assert (runner.epoch, runner.iter) == (2, 20)


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
