"""Progress of a run on the terminal."""

import re
import time
from collections.abc import Sized
from datetime import timedelta
from typing import Any

from mmengine.hooks import Hook
from mmengine.runner import Runner

from mixcl.quiet_log import FOR_PEOPLE
from mixcl.registry import HOOKS
from mixcl.terminal import Progress

AVERAGED = 50
"""Number of steps over which the loss is averaged."""


@HOOKS.register_module()
class ProgressHook(Hook):
    """Shows epoch, step, speed, time left, loss and newest metric (kNN accuracy) of a run, and the progress of tests.

    The loss is the average of the last steps. See :class:`~mixcl.terminal.Progress`.
    """

    # Runs after the other hooks of a step.
    priority = 'LOWEST'

    def before_train(self, runner: Runner) -> None:
        self._begun = time.monotonic()
        self._train = Progress(self._epoch(runner), runner.max_iters, done=runner.iter).__enter__()

    def after_train_iter(self, runner: Runner, batch_idx: int, **kwargs: Any) -> None:
        self._train.what = self._epoch(runner)
        self._train.update(runner.iter + 1, self._note(runner))

    def after_train(self, runner: Runner) -> None:
        self._train.__exit__()
        duration = timedelta(seconds=round(time.monotonic() - self._begun))
        if runner.iter > runner.max_iters:  # a finished run that was made shorter
            return
        runner.logger.info(
            ', '.join(filter(None, [f'{runner.iter} of {runner.max_iters} steps in {duration}', self._note(runner)])),
            extra=FOR_PEOPLE,
        )

    def before_val_epoch(self, runner: Runner) -> None:
        self._begin('validation', runner.val_dataloader)

    def before_test_epoch(self, runner: Runner) -> None:
        self._begin('test', runner.test_dataloader)

    def _begin(self, what: str, loader: Sized) -> None:
        self._evaluation = Progress(what, len(loader), 'batches').__enter__()

    def _after_iter(self, runner: Runner, batch_idx: int, **kwargs: Any) -> None:
        self._evaluation.update(batch_idx + 1)

    def _after_epoch(self, runner: Runner, mode: str = 'train') -> None:
        if mode != 'train':
            self._evaluation.__exit__()

    def after_test_epoch(self, runner: Runner, metrics: dict[str, float] | None = None) -> None:
        self._evaluation.__exit__()
        for name, value in (metrics or {}).items():
            runner.logger.info(f'{name}: {value}', extra=FOR_PEOPLE)

    def _note(self, runner: Runner) -> str:
        """Format the average loss of the last steps and the newest first metric of the validation."""
        scalars = runner.message_hub.log_scalars
        measures = (name for name in scalars if name.startswith('val/') and 'time' not in name)
        shown = {'train/loss': 'loss'} | {name: _label(name) for name in [*measures][:1]}
        found = {label: scalars[name] for name, label in shown.items() if name in scalars}
        values = {label: one.mean(AVERAGED) if label == 'loss' else one.current() for label, one in found.items()}
        return ', '.join(f'{label} {value:.4g}' for label, value in values.items())

    def _epoch(self, runner: Runner) -> str:
        if 'max_epochs' not in runner.cfg.train_cfg:
            return 'training'
        return f'epoch {min(runner.epoch + 1, runner.max_epochs)}/{runner.max_epochs}'


def _label(name: str) -> str:
    neighbours = re.search(r'_knn(\d+)_', name)
    return f'kNN (k={neighbours[1]})' if neighbours else name[4:]
