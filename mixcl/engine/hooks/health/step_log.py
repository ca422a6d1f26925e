"""Logging of every step's outputs, without waiting for the device at each step."""

from typing import Any

import torch
from mmengine.hooks import LoggerHook, RuntimeInfoHook
from mmengine.runner import Runner
from torch import Tensor

from mixcl.registry import HOOKS

HISTORY = 10_000
"""Number of values of each scalar that are kept, or a whole epoch if it is longer."""


def log_interval(runner: Runner) -> int:
    """Return the number of steps between two lines of the log."""
    return next((hook.interval for hook in runner.hooks if isinstance(hook, LoggerHook)), 10)


def is_logged(runner: Runner, batch_idx: int) -> bool:
    """Whether the log may have a line after this step."""
    return (batch_idx + 1) % log_interval(runner) == 0 or batch_idx + 1 == len(runner.train_dataloader)


def on_cpu(outputs: dict[str, Tensor]) -> bool:
    """Whether the outputs of a step can be read without waiting for a device."""
    return all(value.device.type == 'cpu' for value in outputs.values())


@HOOKS.register_module()
class DeferredInfoHook(RuntimeInfoHook):
    """Like mmengine's ``RuntimeInfoHook``, but reads the outputs (losses and others) from a GPU only when logged.

    On a CPU, where reading waits for nothing, the terminal has those of the last step.

    mmengine waits for the device at every step, once per value. The resulting history is the same, but only its last
    values are kept: mmengine copies it for every value that it adds, which takes longer than a step after 100,000.
    """

    def __init__(self) -> None:
        super().__init__()
        self._pending: list[dict[str, Tensor]] = []

    def after_train_iter(self, runner: Runner, batch_idx: int, outputs: dict | None = None, **kwargs: Any) -> None:
        self._pending.append({name: torch.as_tensor(value).detach() for name, value in (outputs or {}).items()})
        if is_logged(runner, batch_idx) or on_cpu(self._pending[-1]):
            self._flush(runner)

    def before_save_checkpoint(self, runner: Runner, checkpoint: dict) -> None:
        """Bring the history in the checkpoint up to date."""
        if self._pending:
            self._flush(runner)
            checkpoint['message_hub'] = runner.message_hub.state_dict()

    def _flush(self, runner: Runner) -> None:
        pending, self._pending = self._pending, []
        tensors = [value.float().reshape(()) for outputs in pending for value in outputs.values()]
        values = iter(torch.stack(tensors).tolist() if tensors else [])
        for outputs in pending:
            for name in outputs:
                runner.message_hub.update_scalar(f'train/{name}', next(values))
        for history in runner.message_hub.log_scalars.values():
            history.max_length = max(HISTORY, len(runner.train_dataloader))
