"""Tiny runs in which something is not finite, and a record of their weights."""

from pathlib import Path

import torch
from engine.tiny_runs import STEPS_PER_EPOCH, run_config
from mmengine.dist import get_rank
from mmengine.runner import Runner
from watching import WatchingHook

from mixcl.distributed import unwrapped
from mixcl.engine.runners.launch import build_runner

FAILING = 7
"""Step that fails, in the second of two epochs of five steps."""

STEPS = 2 * STEPS_PER_EPOCH


def inject_fault(runner: Runner, place: str, steps: tuple[int, ...], rank: int) -> None:
    """Make the loss infinite, or the gradient or the input NaN, at some steps of one process."""

    def spoilt(value: torch.Tensor, by: str = 'nan') -> torch.Tensor:
        return value * float(by) if runner.iter in steps and get_rank() == rank else value

    model = unwrapped(runner.model)
    if place == 'loss':
        model.objective.register_forward_hook(lambda _, inputs, rows: spoilt(rows, 'inf'))
    elif place == 'gradient':
        model.predictor.fc0.weight.register_hook(spoilt)
    else:
        model.backbone.register_forward_pre_hook(lambda _, inputs: spoilt(*inputs))


class Weights(WatchingHook):
    """Copies of the trained weights, and of the target encoder's, after every step."""

    priority = 'VERY_LOW'

    def __init__(self) -> None:
        self.after: dict[int, torch.Tensor] = {}
        self.target_after: dict[int, torch.Tensor] = {}

    def after_train_iter(self, runner: Runner, batch_idx: int, **kwargs) -> None:
        self.after[runner.iter] = weights(runner)
        self.target_after[runner.iter] = weights(runner, trained=False)


def weights(runner: Runner, trained: bool = True) -> torch.Tensor:
    return torch.cat([p.detach().flatten() for p in runner.model.parameters() if p.requires_grad == trained])


def run_with(
    work_dir: Path, place: str | None, steps: tuple[int, ...] = (FAILING,), rank: int = 0, **overrides: object
) -> Runner:
    runner = build_runner(run_config(work_dir, **overrides))
    if place is not None:
        inject_fault(runner, place, steps, rank)
    runner.recorded = Weights()
    runner.register_hook(runner.recorded)
    return runner


def policy(name: str, **arguments: object) -> dict:
    return dict(default_hooks__nonfinite=dict(type='NonFiniteHook', policy=name, **arguments))
