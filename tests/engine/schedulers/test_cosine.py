"""Learning rate and weight decay over the steps, against the formulas of DINO, PatchMix and APS, and timm's own."""

import copy
import math

import pytest
import torch
from mmengine.config import Config
from mmengine.optim.scheduler import param_scheduler
from mmengine.registry import DefaultScope
from timm.scheduler import CosineLRScheduler
from torch.optim import SGD, AdamW

from mixcl.engine import CutWarmupCosineLR, MoCoV3CosineLR, TimmCosineLR, WarmupCosineLR
from mixcl.registry import PARAM_SCHEDULERS

PATCHMIX = 'configs/_base_/methods/patchmix.py'
EPOCH_LENGTH = 1251  # ImageNet-1K in batches of 1024


def optimizer_of(*weight_decays: float, lr: float = 2e-3) -> AdamW:
    groups = [dict(params=[torch.nn.Parameter(torch.zeros(1))], weight_decay=decay) for decay in weight_decays]
    return AdamW(groups, lr=lr)


def rate(scheduler: WarmupCosineLR, step: int) -> float:
    base_share, final_share = scheduler.factor(step)
    return scheduler.base_values[0] * base_share + scheduler.final * final_share


def take_steps(optimizer: AdamW, schedulers: list, count: int) -> list[tuple[float, ...]]:
    """Learning rate and every group's weight decay, as used by each of the next steps."""
    used = []
    for _ in range(count):
        used.append((optimizer.param_groups[0]['lr'], *(group['weight_decay'] for group in optimizer.param_groups)))
        optimizer.step()
        for scheduler in schedulers:
            scheduler.step()
    return used


def build_as_the_runner(scheduler: dict, optimizer: AdamW, epochs: int, epoch_length: int) -> param_scheduler:
    """As mmengine's Runner builds a scheduler of a config."""
    with DefaultScope.overwrite_default_scope('mixcl'):
        return PARAM_SCHEDULERS.build(
            dict(scheduler, end=epochs), default_args=dict(optimizer=optimizer, epoch_length=epoch_length)
        )


def test_the_recipe_of_vit_s_on_imagenet() -> None:
    """Values from running the authors' schedule: batch 1024, 300 epochs, 10 of them warm-up."""
    (scheduler,) = [
        build_as_the_runner(node, optimizer_of(0.04), 300, EPOCH_LENGTH)
        for node in Config.fromfile(PATCHMIX).param_scheduler
        if node.type == 'WarmupCosineLR'
    ]
    assert not scheduler.by_epoch
    assert (scheduler.warmup, scheduler.end) == (10 * EPOCH_LENGTH, 300 * EPOCH_LENGTH)
    expected = {0: 0.0, 5: 1.00008e-3, 10: 2e-3, 155: 1.0005e-3}
    for epoch, value in expected.items():
        assert rate(scheduler, epoch * EPOCH_LENGTH) == pytest.approx(value, rel=1e-6), epoch
    assert rate(scheduler, 10 * EPOCH_LENGTH - 1) == pytest.approx(2e-3, rel=1e-12)
    assert rate(scheduler, 300 * EPOCH_LENGTH - 1) == pytest.approx(1e-6, rel=1e-4)


def test_every_step_of_a_short_run() -> None:
    """Three steps of warm-up (0, half, all), then cos(0), cos(45), cos(90) and cos(135) degrees."""
    optimizer = optimizer_of(0.0, lr=1.0)
    scheduler = WarmupCosineLR(optimizer, warmup=3, final=0.2, end=7, by_epoch=False)
    root = math.sqrt(0.5)
    expected = [0, 0.5, 1, 1, 0.2 + 0.4 * (1 + root), 0.6, 0.2 + 0.4 * (1 - root)]
    assert [lr for lr, _ in take_steps(optimizer, [scheduler], 7)] == pytest.approx(expected)


def test_groups_with_another_base_rate_keep_their_ratio_and_share_the_final_rate() -> None:
    optimizer = optimizer_of(0.0, 0.0, lr=1.0)
    optimizer.param_groups[1]['lr'] = 0.1
    scheduler = WarmupCosineLR(optimizer, warmup=2, final=0.01, end=6, by_epoch=False)
    seen = []
    for _ in range(6):
        seen.append([group['lr'] for group in optimizer.param_groups])
        optimizer.step()
        scheduler.step()
    assert seen[1] == pytest.approx([1.0, 0.1])
    assert seen[4] == pytest.approx([0.505, 0.055])


@pytest.mark.parametrize('warmup', [0, 1])
def test_without_a_warmup_the_first_step_is_no_division_by_zero(warmup: int) -> None:
    optimizer = optimizer_of(0.0, lr=1.0)
    scheduler = WarmupCosineLR(optimizer, warmup=warmup, end=4 + warmup, by_epoch=False)
    used = [lr for lr, _ in take_steps(optimizer, [scheduler], 4 + warmup)]
    assert used[warmup:] == pytest.approx([1, (1 + math.sqrt(0.5)) / 2, 0.5, (1 - math.sqrt(0.5)) / 2])
    assert used[:warmup] == [0.0] * warmup


def test_weight_decay_of_the_recipe() -> None:
    """0.04, 0.22 after half of the run, 0.4 at its end; groups without decay stay without."""
    epochs, epoch_length = 300, 4
    optimizer = optimizer_of(0.04, 0.0)
    schedulers = [
        build_as_the_runner(node, optimizer, epochs, epoch_length) for node in Config.fromfile(PATCHMIX).param_scheduler
    ]
    used = take_steps(optimizer, schedulers, epochs * epoch_length)
    steps = range(len(used))
    expected = [0.4 - 0.36 * (1 + math.cos(math.pi * step / len(used))) / 2 for step in steps]
    assert [decay for _, decay, _ in used] == pytest.approx(expected, rel=1e-9)
    assert used[0][1] == 0.04
    assert used[len(used) // 2][1] == pytest.approx(0.22)
    assert used[-1][1] == pytest.approx(0.4, rel=1e-5)
    assert {zero for _, _, zero in used} == {0.0}


@pytest.mark.parametrize('stop', [1, 5])
def test_a_resumed_schedule_continues_where_it_stopped(stop: int) -> None:
    nodes = Config.fromfile(PATCHMIX).param_scheduler
    nodes[0].warmup = 2

    def start() -> tuple[AdamW, list]:
        optimizer = optimizer_of(0.04, 0.0)
        return optimizer, [build_as_the_runner(node, optimizer, 6, 2) for node in nodes]

    straight = take_steps(*start(), 12)
    optimizer, schedulers = start()
    first = take_steps(optimizer, schedulers, stop)
    saved = copy.deepcopy([part.state_dict() for part in (optimizer, *schedulers)])
    resumed, resumed_schedulers = start()
    for part, state in zip((resumed, *resumed_schedulers), saved, strict=True):
        part.load_state_dict(state)
    assert first + take_steps(resumed, resumed_schedulers, 12 - stop) == straight


def test_a_longer_run_takes_the_position_but_not_the_shape_from_a_checkpoint() -> None:
    optimizer = optimizer_of(0.0, lr=1.0)
    short = WarmupCosineLR(optimizer, warmup=2, end=4, by_epoch=False)
    take_steps(optimizer, [short], 3)
    state = copy.deepcopy(short.state_dict())
    fresh = optimizer_of(0.0, lr=1.0)
    longer = WarmupCosineLR(fresh, warmup=2, end=10, by_epoch=False)
    longer.load_state_dict(state)
    fresh.step()
    longer.step()
    assert fresh.param_groups[0]['lr'] == pytest.approx((1 + math.cos(math.pi * 2 / 8)) / 2)


@pytest.mark.parametrize('settings', [dict(warmup=10, start=1e-6, final=1e-5), dict()], ids=['PatchMix', 'DeiT'])
def test_every_epoch_is_that_of_timm(settings: dict) -> None:
    scales = (1.0, 0.75, 0.75**13)
    ours, theirs = (
        SGD([dict(params=[torch.nn.Parameter(torch.zeros(1))], lr=lr, lr_scale=scale) for scale, lr in rates], lr=2e-3)
        for rates in ([(scale, 2e-3 * scale) for scale in scales], [(scale, 2e-3) for scale in scales])
    )
    schedule = TimmCosineLR(ours, **settings, end=100)
    timms = CosineLRScheduler(
        theirs,
        t_initial=100,
        lr_min=settings.get('final', 0.0),
        warmup_t=settings.get('warmup', 0),
        warmup_lr_init=settings.get('start', 0.0),
    )
    for epoch in range(100):
        # Before its first step timm leaves the base rate unscaled where nothing warms up; DeiT decays no layers then.
        if epoch or settings:
            expected = [group['lr'] for group in theirs.param_groups]
            assert [group['lr'] for group in ours.param_groups] == pytest.approx(expected, rel=1e-12), epoch
        ours.step()
        schedule.step()
        timms.step(epoch)


def test_the_schedule_of_moco_v3() -> None:
    optimizer = optimizer_of(0.0, lr=1.0)
    used = [lr for lr, _ in take_steps(optimizer, [MoCoV3CosineLR(optimizer, warmup=4, end=8, by_epoch=False)], 8)]
    assert used == pytest.approx([0, 0.25, 0.5, 0.75, *((1 + math.cos(math.pi * t / 4)) / 2 for t in range(4))])


def test_the_schedule_of_aps() -> None:
    optimizer = optimizer_of(0.0, lr=1.0)
    used = [lr for lr, _ in take_steps(optimizer, [CutWarmupCosineLR(optimizer, warmup=4, end=8, by_epoch=False)], 8)]
    assert used == pytest.approx([min((t + 1) / 4, (1 + math.cos(math.pi * t / 8)) / 2) for t in range(8)])
