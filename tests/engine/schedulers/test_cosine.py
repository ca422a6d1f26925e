"""Learning rates over the steps, against the formulas of DINO, PatchMix, MoCo v3 and APS, and timm's own."""

import copy
import math

import pytest
import torch
from mmengine.optim.scheduler import param_scheduler
from mmengine.registry import DefaultScope
from timm.scheduler import CosineLRScheduler
from torch.optim import SGD, AdamW, Optimizer

from mixcl.engine import CutWarmupCosineLR, MoCoV3CosineLR, TimmCosineLR, WarmupCosineLR
from mixcl.recipes.prepared import prepared
from mixcl.registry import PARAM_SCHEDULERS

PATCHMIX = 'configs/patchmix/vit-s16_in1k.py'
EPOCH_LENGTH = 1251  # ImageNet-1K in batches of 1024
ROOT = math.sqrt(0.5)


def optimizer_of(*groups: dict, lr: float = 1.0) -> AdamW:
    return AdamW([dict(params=[torch.nn.Parameter(torch.zeros(1))], **group) for group in groups or ({},)], lr=lr)


def take_steps(optimizer: Optimizer, schedulers: list, count: int) -> list[list[float]]:
    """Take steps; return the learning rate of every group at each of them."""
    used = []
    for _ in range(count):
        used.append([group['lr'] for group in optimizer.param_groups])
        optimizer.step()
        for scheduler in schedulers:
            scheduler.step()
    return used


def of_patchmix(optimizer: AdamW, epochs: int, epoch_length: int) -> list[param_scheduler]:
    """Build PatchMix's schedulers as mmengine's Runner does."""
    given = dict(optimizer=optimizer, epoch_length=epoch_length)
    with DefaultScope.overwrite_default_scope('mixcl'):
        nodes = prepared(PATCHMIX).param_scheduler
        return [PARAM_SCHEDULERS.build(dict(node, end=epochs), default_args=given) for node in nodes]


def test_the_recipe_of_vit_s_on_imagenet() -> None:
    """Values from running the authors' schedule: batch 1024, 300 epochs, 10 of them warm-up."""
    schedulers = of_patchmix(optimizer_of(lr=2e-3), 300, EPOCH_LENGTH)
    (scheduler,) = [scheduler for scheduler in schedulers if isinstance(scheduler, WarmupCosineLR)]
    assert (scheduler.warmup, scheduler.end, scheduler.by_epoch) == (10 * EPOCH_LENGTH, 300 * EPOCH_LENGTH, False)
    expected = {0: 0.0, 5: 1.00008e-3, 10: 2e-3, 155: 1.0005e-3}
    for epoch, value in expected.items():
        assert scheduler.rate(2e-3, epoch * EPOCH_LENGTH) == pytest.approx(value, rel=1e-6), epoch
    assert scheduler.rate(2e-3, 300 * EPOCH_LENGTH - 1) == pytest.approx(1e-6, rel=1e-4)


@pytest.mark.parametrize(
    ('warmup', 'expected'),
    [
        # Three steps of warm-up, then cos(0), cos(45), cos(90) and cos(135) degrees.
        (3, [0, 0.5, 1, 1, 0.2 + 0.4 * (1 + ROOT), 0.6, 0.2 + 0.4 * (1 - ROOT)]),
        (1, [0, 1, 0.2 + 0.4 * (1 + ROOT), 0.6, 0.2 + 0.4 * (1 - ROOT)]),
        (0, [1, 0.2 + 0.4 * (1 + ROOT), 0.6, 0.2 + 0.4 * (1 - ROOT)]),
    ],
)
def test_every_step_of_a_short_run(warmup: int, expected: list[float]) -> None:
    """Groups with another base rate share the final rate; a group with ``fix_lr`` keeps its own."""
    optimizer = optimizer_of({}, dict(lr=0.1), dict(lr=0.3, fix_lr=True))
    scheduler = WarmupCosineLR(optimizer, warmup=warmup, final=0.2, end=len(expected), by_epoch=False)
    first, second, fixed = zip(*take_steps(optimizer, [scheduler], len(expected)), strict=True)
    assert first == pytest.approx(expected)
    assert second[-2] == pytest.approx(0.15), 'half-way between .1 and .2'
    assert set(fixed) == {0.3}


def test_the_schedule_of_moco_v3() -> None:
    optimizer = optimizer_of()
    used = take_steps(optimizer, [MoCoV3CosineLR(optimizer, warmup=3, end=7, by_epoch=False)], 7)
    assert [rate for (rate,) in used] == pytest.approx([0, 1 / 3, 2 / 3, 1, (1 + ROOT) / 2, 0.5, (1 - ROOT) / 2])


def test_the_schedule_of_aps() -> None:
    optimizer = optimizer_of()
    used = take_steps(optimizer, [CutWarmupCosineLR(optimizer, warmup=4, end=8, by_epoch=False)], 8)
    expected = [min((t + 1) / 4, (1 + math.cos(math.pi * t / 8)) / 2) for t in range(8)]
    assert [rate for (rate,) in used] == pytest.approx(expected)


@pytest.mark.parametrize('stop', [1, 5])
def test_a_resumed_schedule_continues_where_it_stopped(stop: int) -> None:
    def start(end: int) -> tuple[AdamW, list]:
        """Build the schedule of a config; a checkpoint sets only the position, and the run may be longer now."""
        optimizer = optimizer_of()
        return optimizer, [WarmupCosineLR(optimizer, warmup=2, end=end, by_epoch=False)]

    straight = take_steps(*start(12), 12)
    optimizer, schedulers = start(6)
    take_steps(optimizer, schedulers, stop)
    saved = copy.deepcopy([part.state_dict() for part in (optimizer, *schedulers)])
    resumed, resumed_schedulers = start(12)
    for part, state in zip((resumed, *resumed_schedulers), saved, strict=True):
        part.load_state_dict(state)
    assert take_steps(resumed, resumed_schedulers, 12 - stop)[1:] == straight[stop + 1 :]


@pytest.mark.parametrize('settings', [dict(warmup=10, start=1e-6, final=1e-5), dict()], ids=['PatchMix', 'DeiT'])
def test_every_epoch_is_that_of_timm(settings: dict) -> None:
    scales = (1.0, 0.75, 0.75**13)
    ours = optimizer_of(*(dict(lr=2e-3 * scale, lr_scale=scale) for scale in scales))
    theirs = SGD([dict(params=[torch.nn.Parameter(torch.zeros(1))], lr_scale=scale) for scale in scales], lr=2e-3)
    names = dict(final='lr_min', warmup='warmup_t', start='warmup_lr_init')
    timms = CosineLRScheduler(theirs, t_initial=100, **{names[name]: value for name, value in settings.items()})
    used = take_steps(ours, [TimmCosineLR(ours, **settings, end=100)], 100)
    for epoch in range(100):
        # Without warm-up, timm leaves the base rate unscaled before its first step; DeiT has no layer decay anyway.
        if epoch or settings:
            assert used[epoch] == pytest.approx([group['lr'] for group in theirs.param_groups], rel=1e-12), epoch
        timms.step(epoch)


def test_simsiam_lowers_its_rate_once_an_epoch() -> None:
    """``init_lr * 0.5 * (1. + math.cos(math.pi * epoch / args.epochs))``, as the authors' code has it."""
    (schedule,) = prepared('configs/simsiam/r50_in1k.py').param_scheduler
    optimizer = optimizer_of(lr=0.05)
    with DefaultScope.overwrite_default_scope('mixcl'):
        given = dict(optimizer=optimizer, end=200, epoch_length=EPOCH_LENGTH)
        built = PARAM_SCHEDULERS.build(schedule, default_args=given)
    assert built.by_epoch
    for epoch, (rate, *_) in enumerate(take_steps(optimizer, [built], 200)):
        assert rate == pytest.approx(0.05 * 0.5 * (1 + math.cos(math.pi * epoch / 200)))
