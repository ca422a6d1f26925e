"""Runs on a GPU: they resume exactly, alone, with DDP and sharded; no step waits for the device, and batches prepared
beside the step before change nothing."""

import copy
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from mmengine.config import ConfigDict
from mmengine.hooks import Hook
from mmengine.runner import Runner
from tools.command import free_port
from torch import Tensor

from mixcl.distributed import unwrapped, whole
from mixcl.engine.hooks.health.step_log import is_logged
from mixcl.engine.runners.launch import build_runner
from mixcl.engine.runners.side_stream import SideStream
from mixcl.recipes.prepared import prepared
from mixcl.recipes.run_options import use_launcher

pytestmark = pytest.mark.gpu

CHECKPOINT, FAILING = 12, 12
"""Steps of 20, within the second epoch, after which no log line is due."""

Train = Callable[..., Runner]


@pytest.fixture
def train(device: str, tmp_path: Path) -> Train:
    def trained(name: str, *hooks: Hook, **overrides: Any) -> Runner:
        """Train PatchMix for 20 steps, as tools/train.py would; ``__`` stands for the dot of a name."""
        size = 'vit-xs4_digits' if device == 'cpu' else 'vit-s16_in1k'
        cfg = copy.deepcopy(prepared(f'configs/patchmix/{size}.py', smoke=True))
        cfg.val_cfg = cfg.val_dataloader = cfg.val_evaluator = None
        cfg.default_hooks.checkpoint.update(by_epoch=False, interval=CHECKPOINT)
        cfg.visualizer.vis_backends = [ConfigDict(type='LocalVisBackend')]
        cfg.env_cfg.cudnn_benchmark = False  # it may choose another convolution in each run
        cfg.update(work_dir=str(tmp_path / name), experiment_name=name)
        cfg.merge_from_dict({place.replace('__', '.'): value for place, value in overrides.items()})
        use_launcher(cfg, 'pytorch' if 'RANK' in os.environ else 'none')
        runner = build_runner(cfg)
        for hook in hooks:
            runner.register_hook(hook)
        runner.train()
        return runner

    return trained


def weights(runner: Runner) -> Tensor:
    """Return all parameters and buffers as one vector, float64 on the CPU."""
    state = unwrapped(runner.model).state_dict().values()
    return torch.cat([whole(value).detach().flatten().double().cpu() for value in state])


def test_runs_continue_exactly(train: Train, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A plain run continues bit by bit; a group of one process, with DDP or sharded, up to rounding."""
    torch.use_deterministic_algorithms(True, warn_only=True)
    try:
        straight = weights(train('straight'))
        from_there = dict(resume=True, load_from=str(tmp_path / f'straight/iter_{CHECKPOINT}.pth'))
        assert torch.equal(weights(train('resumed', **from_there)), straight)
        process = dict(RANK='0', LOCAL_RANK='0', WORLD_SIZE='1', MASTER_ADDR='127.0.0.1', MASTER_PORT=free_port())
        for name, value in process.items():
            monkeypatch.setenv(name, str(value))
        sharded = dict(model_wrapper_cfg=dict(type='MMFullyShardedDataParallel'))
        for wrapper, setting in dict(MMDistributedDataParallel={}, MMFullyShardedDataParallel=sharded).items():
            joined = train(wrapper, **from_there, **setting)
            assert type(joined.model).__name__ == wrapper
            assert (weights(joined) - straight).norm() <= 1e-6 * straight.norm()
    finally:
        torch.use_deterministic_algorithms(False)
        if torch.distributed.is_initialized():
            torch.distributed.destroy_process_group()


def test_batches_prepared_beside_the_step_before_change_no_bit(train: Train, monkeypatch: pytest.MonkeyPatch) -> None:
    torch.use_deterministic_algorithms(True, warn_only=True)
    try:
        beside = weights(train('beside'))
        monkeypatch.setattr(SideStream, '__call__', lambda stream, batch: stream.prepare(batch))
        assert torch.equal(weights(train('one_after_the_other')), beside)
    finally:
        torch.use_deterministic_algorithms(False)


class FailOnce(Hook):
    """A hook that feeds NaN to one step, forbids waiting for the GPU unless a log line is due, and records weights."""

    def __init__(self, device: str) -> None:
        self.on_gpu = device == 'cuda'
        self.after: dict[int, Tensor] = {}

    def before_train(self, runner: Runner) -> None:
        def spoilt(module: Any, inputs: tuple) -> Any:
            return inputs[0] * float('nan') if runner.iter == FAILING else inputs

        unwrapped(runner.model).backbone.register_forward_pre_hook(spoilt)

    def before_train_iter(self, runner: Runner, batch_idx: int, data_batch: dict | None = None) -> None:
        self.waiting('error' if runner.epoch > 0 and not is_logged(runner, batch_idx) else 'default')

    def after_train_iter(
        self, runner: Runner, batch_idx: int, data_batch: dict | None = None, outputs: dict | None = None
    ) -> None:
        trained = [p.detach().flatten() for p in runner.model.parameters() if p.requires_grad]
        self.after[runner.iter] = torch.cat(trained)

    def waiting(self, mode: str) -> None:
        if self.on_gpu:
            torch.cuda.set_sync_debug_mode(mode)


def test_a_step_with_nan_leaves_the_weights_and_no_step_waits(train: Train, device: str) -> None:
    hook = FailOnce(device)
    try:
        train('nonfinite', hook, default_hooks__nonfinite__policy='skip', default_hooks__checkpoint__interval=1000)
    finally:
        hook.waiting('default')
    steps = range(FAILING - 1, FAILING + 2)
    assert [i for i in steps if torch.equal(hook.after[i], hook.after[i - 1])] == [FAILING]
    assert hook.after[max(hook.after)].isfinite().all()
