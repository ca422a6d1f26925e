"""How long a run will take, and how much memory it needs, once that can be told."""

import math
import resource
import time
from typing import Any

import torch
from mmengine.hooks import Hook
from mmengine.runner import IterBasedTrainLoop, Runner

from mixcl.engine.hooks.banner import in_bytes
from mixcl.engine.hooks.progress_hook import in_hours
from mixcl.quiet_log import FOR_PEOPLE
from mixcl.registry import HOOKS


@HOOKS.register_module()
class RunTimeHook(Hook):
    """Says once, after ``LAST`` steps of this process, how long the run takes, and the most memory that it took.

    Steps count from the one after ``WARM_UP``, with the checkpoints that fell among them, and evaluations if there was
    one by then. The device is waited for twice in a run.
    """

    priority = 'LOWEST'
    WARM_UP = 10
    LAST = 50

    def before_train(self, runner: Runner) -> None:
        self._first, self._start = runner.iter, time.monotonic()
        self._evaluations: list[float] = []

    def before_val(self, runner: Runner) -> None:
        self._evaluation = time.monotonic()

    def after_val(self, runner: Runner) -> None:
        if hasattr(self, '_start'):  # within training
            self._evaluations.append(time.monotonic() - self._evaluation)

    def after_train_iter(self, runner: Runner, **kwargs: Any) -> None:
        steps = runner.iter + 1 - self._first
        if steps not in (self.WARM_UP, self.LAST):
            return
        if torch.cuda.is_available():
            torch.cuda.synchronize()
        stepping = time.monotonic() - self._start - sum(self._evaluations)
        if steps == self.WARM_UP:
            self._warmed_up = stepping
        elif runner.iter + 1 < runner.max_iters:
            seconds = (stepping - self._warmed_up) / (self.LAST - self.WARM_UP)
            runner.logger.info(self._forecast(runner, seconds), extra=FOR_PEOPLE)

    def _forecast(self, runner: Runner, seconds: float) -> str:
        """The line, for so many seconds per step."""
        steps, loop, remark = runner.max_iters - runner.iter - 1, runner.train_loop, ''
        left = steps * seconds
        if self._evaluations:
            between = loop.val_interval * (1 if isinstance(loop, IterBasedTrainLoop) else len(loop.dataloader))
            left += math.ceil(steps / between) * self._evaluations[-1]
        elif runner.val_loop is not None:
            remark = ' without its evaluations'
        what = 'what is left of the run'
        if self._first == 0:
            what, left = 'the whole run', left + time.monotonic() - self._start
        if torch.cuda.is_available():
            peak = torch.cuda.max_memory_allocated()
        else:  # of this process without its workers, which Linux tells in KiB
            peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
        when = f'{what} takes about {in_hours(left)} on this machine{remark}'
        return f'{seconds:.3g} s per step: {when}; peak memory {in_bytes(peak)}'
