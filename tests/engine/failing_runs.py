"""Tiny runs in which something is not finite, and a record of what their weights did."""

from pathlib import Path

import torch
from engine.tiny_runs import STEPS_PER_EPOCH, run_config
from mmengine.dist import get_rank
from mmengine.hooks import Hook
from mmengine.runner import Runner

from mixcl.distributed import unwrapped
from mixcl.engine.runners.launch import build_runner

FAILING = 7
"""A step in the second of two epochs of five steps."""

STEPS = 2 * STEPS_PER_EPOCH
PLACES = ('loss', 'gradient', 'input')


class InjectFault(Hook):
    """Makes steps fail.

    Args:
        place: what is not finite: 'loss', 'gradient' or 'input'.
        steps: which ones.
        rank: on which process.
    """

    priority = 'HIGHEST'

    def __init__(self, place: str, steps: tuple[int, ...], rank: int = 0) -> None:
        self.place = place
        self.steps = steps
        self.rank = rank

    def before_train(self, runner: Runner) -> None:
        self.runner = runner
        model = unwrapped(runner.model)
        if self.place == 'loss':
            compute = model.loss

            def failing(*arguments: object) -> dict:
                losses = compute(*arguments)
                name = next(iter(losses))
                return {**losses, name: losses[name] * (float('inf') if self._due() else 1.0)}

            model.loss = failing
        if self.place == 'gradient':
            parameter = model.predictor.fc0.weight
            parameter.register_hook(lambda grad: torch.full_like(grad, float('nan')) if self._due() else grad)

    def before_train_iter(self, runner: Runner, batch_idx: int, data_batch: dict | None = None) -> None:
        if self.place == 'input' and self._due():
            data_batch['inputs'] = [crops.float() * float('nan') for crops in data_batch['inputs']]

    def _due(self) -> bool:
        return self.runner.iter in self.steps and get_rank() == self.rank


class Weights(Hook):
    """A copy of the trained weights, and of the target encoder's, after every step."""

    priority = 'VERY_LOW'

    def __init__(self) -> None:
        self.after: dict[int, torch.Tensor] = {}
        self.target_after: dict[int, torch.Tensor] = {}

    def after_train_iter(self, runner: Runner, batch_idx: int, **kwargs) -> None:
        self.after[runner.iter] = weights(runner)
        self.target_after[runner.iter] = weights(runner, trained=False)


def weights(runner: Runner, trained: bool = True) -> torch.Tensor:
    return torch.cat([p.detach().flatten() for p in runner.model.parameters() if p.requires_grad == trained])


def assert_stood_still(runner: Runner, failing: int = FAILING) -> None:
    """Weights and target at the step that was refused, and at no other."""
    recorded = runner.recorded
    for step in range(2, STEPS - 1):  # at first the rate of the warm-up is 0, at last the momentum 1
        still = torch.equal(recorded.target_after[step], recorded.target_after[step - 1])
        assert still == torch.equal(recorded.after[step], recorded.after[step - 1]) == (step == failing), step
    assert len(runner.message_hub.get_scalar('train/ema_momentum').data[0]) == STEPS, 'its schedule goes on'
    assert runner.message_hub.get_scalar('train/nonfinite_steps').current() == 1


def run_with(
    work_dir: Path, place: str | None, steps: tuple[int, ...] = (FAILING,), rank: int = 0, **overrides: object
) -> Runner:
    runner = build_runner(run_config(work_dir, **overrides))
    if place is not None:
        runner.register_hook(InjectFault(place, steps, rank))
    runner.recorded = Weights()
    runner.register_hook(runner.recorded)
    return runner


def policy(name: str, **arguments: object) -> dict:
    return dict(default_hooks__nonfinite=dict(type='NonFiniteHook', policy=name, **arguments))


def finite_files(folder: Path) -> list[str]:
    """The names of all weight files below a folder, which must be finite."""
    files = sorted(folder.rglob('*.pth'))
    for file in files:
        state = torch.load(file, map_location='cpu', weights_only=True)['state_dict']
        assert all(tensor.isfinite().all() for tensor in state.values() if tensor.is_floating_point()), file
    return [file.name for file in files]
