"""Under loss scaling: overflow is the scaler's business, everything else that of the policy."""

from functools import partial
from pathlib import Path

import mmengine.optim.optimizer.amp_optimizer_wrapper as amp
import pytest
import torch
from engine.health.failing_runs import FAILING, STEPS, assert_the_target_stands, finite_files, policy, run_with

from mixcl.errors import UserError


@pytest.fixture
def loss_scaling(monkeypatch: pytest.MonkeyPatch) -> dict:
    """AmpOptimWrapper with a scaler for the CPU, which it refuses otherwise."""
    monkeypatch.setattr(amp, 'is_cuda_available', lambda: True)
    monkeypatch.setattr(amp, 'GradScaler', partial(torch.amp.GradScaler, 'cpu'))
    return dict(optim_wrapper__type='AmpOptimWrapper', optim_wrapper__dtype='bfloat16')


@pytest.mark.parametrize('fused', [False, True])
def test_overflow_of_scaled_gradients_is_left_to_the_scaler(tmp_path: Path, loss_scaling: dict, fused: bool) -> None:
    """Found and lost again: after two good steps the scale doubles, which is too much."""
    scale = dict(init_scale=2.0**120, growth_interval=2)
    runner = run_with(
        tmp_path, None, **loss_scaling, optim_wrapper__loss_scale=scale, optim_wrapper__optimizer__fused=fused
    )
    runner.train()
    assert 1 < runner.optim_wrapper.loss_scaler.get_scale() < 2.0**120
    recorded = runner.recorded
    moved, followed = (
        [step for step in range(1, STEPS - 1) if not torch.equal(after[step], after[step - 1])]
        for after in (recorded.after, recorded.target_after)
    )
    assert moved == followed and moved != list(range(moved[0], STEPS - 1)), 'overflow after the first good steps, too'
    assert 'train/nonfinite_steps' not in runner.message_hub.log_scalars
    finite_files(tmp_path)


@pytest.mark.parametrize('fused', [False, True])
@pytest.mark.parametrize('place', ['loss', 'input'])
def test_a_loss_that_is_not_finite_under_scaling(tmp_path: Path, loss_scaling: dict, place: str, fused: bool) -> None:
    fused = dict(optim_wrapper__optimizer__fused=fused)
    runner = run_with(tmp_path, place, **loss_scaling, **fused, **policy('skip'))
    runner.train()
    assert runner.message_hub.get_scalar('train/nonfinite_steps').current() == 1
    assert torch.equal(runner.recorded.after[FAILING], runner.recorded.after[FAILING - 1])
    assert_the_target_stands(runner)
    finite_files(tmp_path)


def test_gradients_that_never_fit_the_scaler(tmp_path: Path, loss_scaling: dict) -> None:
    """The scale falls by half at every failure; below 1 it is no longer the scale's fault."""
    steps = tuple(range(10))
    scale = dict(init_scale=4.0)
    runner = run_with(tmp_path, 'gradient', steps, **loss_scaling, optim_wrapper__loss_scale=scale)
    with pytest.raises(UserError, match='step 2: '):
        runner.train()
