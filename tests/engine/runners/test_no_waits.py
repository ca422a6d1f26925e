"""Between two lines of the log no hook, optimiser or loop waits for the GPU: runs on a device without values."""

import copy
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any
from unittest.mock import patch

import hosts
import pytest
import torch
from engine.tiny_runs import run_config
from mmengine.config import Config, ConfigDict
from mmengine.hooks import Hook
from mmengine.runner import Runner
from waits import DEVICE, acting_as_gpu, nothing_waits

from mixcl.engine.runners.launch import build_runner
from mixcl.recipes.prepared import prepared
from mixcl.registry import HOOKS

LAST = 1
"""Step, counted from 0, after which a run ends. The fifth, the last of its epoch, would be logged."""

ADAMW, SGD = dict(type='AdamW', lr=0.01), dict(type='SGD', lr=0.01, momentum=0.9)
LARS, MOCO_LARS = dict(type='LARS', lr=0.01, momentum=0.9), dict(type='MoCoLARS', lr=0.01)


OF_A_STEP = ('before_train_iter', 'after_train_iter')


class Done(Exception):
    """The run has come to its last step."""


class Forbidding(Hook):
    """Forbids waiting after the first step, in which the online probe builds its classifier, and ends the run."""

    priority = 'LOWEST'  # after the hooks of the run

    def __init__(self) -> None:
        self.forbidden = ExitStack()

    def after_train_iter(self, runner: Runner, batch_idx: int, **kwargs: Any) -> None:
        if batch_idx == 0:
            self.forbidden.enter_context(nothing_waits())
        if batch_idx == LAST:
            raise Done


@pytest.fixture(autouse=True)
def gpu() -> Iterator[None]:
    with acting_as_gpu(), patch('mmengine.runner.runner.get_device', lambda: DEVICE):
        yield


def dino(work_dir: Path, optimizer: dict, **overrides: Any) -> Config:
    """Configure DINO with every hook that a step can have."""
    cfg = run_config(work_dir, default_hooks__logger__interval=50, **overrides)
    terms = [('view1', 'view2', 0.5), ('view2', 'view1', 0.5)]
    cfg.model = ConfigDict(hosts.dino() | dict(views=dict(view1=1, view2=1), terms=terms))
    cfg.optim_wrapper.optimizer = ConfigDict(optimizer)
    hooks = [
        dict(type='OnlineProbe'), dict(type='AdaptiveClipHook'), dict(type='ParameterClipHook', max_norm=3.0),
        dict(type='FrozenPrototypesHook'),
    ]  # fmt: skip
    cfg.custom_hooks += [ConfigDict(hook) for hook in hooks]
    return cfg


def begin(cfg: Config, *hooks: Hook) -> None:
    """Start a run, which ends with :class:`Done` unless something waits; the optimiser has made a step before, since
    the host alone can withhold the first gradients of torch's fused SGD."""
    runner = build_runner(cfg)
    runner._init_model_weights = lambda: None  # it reads the weights
    optimizer = runner.optim_wrapper.optimizer
    for parameter in (parameter for group in optimizer.param_groups for parameter in group['params']):
        parameter.grad = torch.zeros_like(parameter)
    optimizer.step()
    forbidding = Forbidding()
    for hook in (*hooks, forbidding):
        runner.register_hook(hook)
    with forbidding.forbidden:
        runner.train()


@pytest.mark.parametrize(
    ('optimizer', 'policy'),
    [(ADAMW, 'raise'), (ADAMW, 'skip'), (SGD, 'skip'), (LARS, 'raise'), (MOCO_LARS, 'skip')],
    ids=lambda value: value if isinstance(value, str) else value['type'],
)
def test_no_hook_waits(tmp_path: Path, optimizer: dict, policy: str) -> None:
    with pytest.raises(Done):
        begin(dino(tmp_path, optimizer, default_hooks__nonfinite__policy=policy))


UNWATCHED = dict(
    StoredAverageHook="mmengine's average asks the device for its number of steps; only fine-tuning has one"
)
"""Hooks that may wait, and why."""


def test_every_hook_of_a_step_is_watched(tmp_path: Path) -> None:
    """Hooks that act between two lines of the log are in the runs of this file."""
    present = {type(hook).__name__ for hook in build_runner(dino(tmp_path, ADAMW)).hooks}
    of_steps = {
        name
        for name, kind in HOOKS.module_dict.items()
        if kind.__module__.startswith('mixcl.') and 'detection' not in kind.__module__  # registered where mmdet is
        if any(getattr(kind, place) is not getattr(Hook, place) for place in OF_A_STEP)
    }
    assert of_steps - present == UNWATCHED.keys()


@pytest.mark.parametrize(
    'overrides',
    [dict(type='BFloat16OptimWrapper'), dict(accumulative_counts=2), dict(clip_grad=dict(max_norm=1.0))],
    ids=lambda overrides: next(iter(overrides)),
)
def test_no_optimiser_wrapper_waits(tmp_path: Path, overrides: dict) -> None:
    cfg = dino(tmp_path, ADAMW)
    cfg.optim_wrapper.update(overrides)
    with pytest.raises(Done):
        begin(cfg)


@pytest.mark.parametrize('name', ['aps/vit-t2_cifar100_clip', 'mae/vit-xs4_digits'])
def test_no_other_loop_or_model_waits(tmp_path: Path, name: str) -> None:
    cfg = copy.deepcopy(prepared(f'configs/{name}.py', smoke=True))
    cfg.val_cfg = cfg.val_dataloader = cfg.val_evaluator = None
    cfg.default_hooks.logger.interval = 50
    cfg.update(work_dir=str(tmp_path))
    with pytest.raises(Done):
        begin(cfg)


class Reading(Hook):
    """A hook that someone might add."""

    def after_train_iter(self, runner: Runner, batch_idx: int, outputs: dict | None = None, **kwargs: Any) -> None:
        if batch_idx == 1:
            self.loss = outputs['loss'].item()


def test_a_hook_that_reads_the_loss_is_found(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError, match='item') as found:
        begin(dino(tmp_path, ADAMW), Reading())
    assert any(entry.name == 'after_train_iter' and entry.path == Path(__file__) for entry in found.traceback)
