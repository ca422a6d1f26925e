"""The schedule of timm's scripts: points by hand, and every epoch against timm's own."""

import copy

import pytest
import torch
from mmengine.registry import DefaultScope
from timm.scheduler import CosineLRScheduler
from torch.optim import SGD

from mixcl.engine import TimmCosineLR
from mixcl.registry import PARAM_SCHEDULERS

PATCHMIX = dict(warmup=10, start=1e-6, final=1e-5)


def optimizer_of(*scales: float, lr: float = 2e-3) -> SGD:
    groups = [dict(params=[torch.nn.Parameter(torch.zeros(1))], lr=lr * scale, lr_scale=scale) for scale in scales]
    return SGD(groups, lr=lr)


def rates(optimizer: SGD, scheduler: TimmCosineLR, epochs: int) -> list[list[float]]:
    """Learning rates of all groups in each of the next epochs."""
    used = []
    for _ in range(epochs):
        used.append([group['lr'] for group in optimizer.param_groups])
        optimizer.step()
        scheduler.step()
    return used


def test_points_of_the_fine_tuning_recipe() -> None:
    optimizer = optimizer_of(1.0)
    (*found,) = (rate for (rate,) in rates(optimizer, TimmCosineLR(optimizer, **PATCHMIX, end=100), 100))
    assert found[0] == found[1] == 1e-6
    assert found[2] == pytest.approx(1e-6 + 1.999e-3 / 10)
    assert found[10] == pytest.approx(1e-6 + 9 * 1.999e-3 / 10)
    # Epoch 11 is the first after the warm-up: (1 + cos .1 pi) / 2 = .97552826
    assert found[11] == pytest.approx(1e-5 + 1.99e-3 * 0.97552826, rel=1e-8)
    assert found[51] == pytest.approx(1e-5 + 1.99e-3 / 2)
    # (1 + cos .98 pi) / 2 = .00098664
    assert found[99] == pytest.approx(1e-5 + 1.99e-3 * 0.00098664, rel=1e-5)


@pytest.mark.parametrize('settings', [PATCHMIX, dict(warmup=5, start=1e-6, final=1e-5), dict()])
def test_every_epoch_is_that_of_timm(settings: dict) -> None:
    scales = (1.0, 0.75, 0.75**13)
    theirs = SGD([dict(params=[torch.nn.Parameter(torch.zeros(1))], lr_scale=scale) for scale in scales], lr=2e-3)
    schedule = CosineLRScheduler(
        theirs,
        t_initial=100,
        lr_min=settings.get('final', 0.0),
        warmup_t=settings.get('warmup', 0),
        warmup_lr_init=settings.get('start', 0.0),
    )
    expected = []
    for epoch in range(100):
        # Before its first step timm leaves the base rate unscaled where nothing warms up; DeiT decays no layers then.
        if epoch or settings:
            expected.append([group['lr'] for group in theirs.param_groups])
        schedule.step(epoch)
    optimizer = optimizer_of(*scales)
    found = rates(optimizer, TimmCosineLR(optimizer, **settings, end=100), 100)
    for ours, timms in zip(found[-len(expected) :], expected, strict=True):
        assert ours == pytest.approx(timms, rel=1e-12)


def test_the_linear_probe_runs_two_epochs_at_the_full_rate() -> None:
    optimizer = optimizer_of(1.0, lr=0.08)
    (*found,) = (rate for (rate,) in rates(optimizer, TimmCosineLR(optimizer, end=4), 4))
    assert found == pytest.approx([0.08, 0.08, 0.04 * (1 + 0.5**0.5), 0.04])


def test_groups_without_a_scale() -> None:
    optimizer = SGD([torch.nn.Parameter(torch.zeros(1))], lr=1.0)
    assert rates(optimizer, TimmCosineLR(optimizer, end=2), 2) == [[1.0], [1.0]]


@pytest.mark.parametrize('stop', [0, 1, 2, 5])
def test_a_resumed_schedule_continues_where_it_stopped(stop: int) -> None:
    def start() -> tuple[SGD, TimmCosineLR]:
        optimizer = optimizer_of(1.0, 0.5)
        with DefaultScope.overwrite_default_scope('mixcl'):
            cfg = dict(type='TimmCosineLR', warmup=2, start=1e-6, final=1e-5, end=8)
            return optimizer, PARAM_SCHEDULERS.build(cfg, default_args=dict(optimizer=optimizer))

    straight = rates(*start(), 8)
    optimizer, scheduler = start()
    first = rates(optimizer, scheduler, stop)
    states = copy.deepcopy((optimizer.state_dict(), scheduler.state_dict()))
    resumed, continued = start()
    resumed.load_state_dict(states[0])
    continued.load_state_dict(states[1])
    assert first + rates(resumed, continued, 8 - stop) == straight
