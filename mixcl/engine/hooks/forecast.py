"""Forecast of a run that is too long for a CPU."""

import time
from typing import Any

from mmengine.hooks import Hook
from mmengine.runner import Runner

from mixcl.quiet_log import FOR_PEOPLE
from mixcl.recipes.images import crop_sizes

HOUR = 3600.0
LONG, WANTED = 24 * HOUR, 6 * HOUR
"""Length of a run, in seconds, from which on the hook speaks, and of the run that it suggests."""

TIMED = 3
"""Number of steps that are timed. The first is not: it also counts FLOPs."""

SMALL = 96
"""Size of views, in pixels, that photos are still recognised at."""


class ForecastHook(Hook):
    """Says once, after a few steps of ``mixcl pretrain``, that they will take more than a day and what takes hours."""

    priority = 'LOWEST'

    def before_train(self, runner: Runner) -> None:
        self._first = runner.iter

    def after_train_iter(self, runner: Runner, batch_idx: int, **kwargs: Any) -> None:
        if runner.iter == self._first:
            self._begun = time.monotonic()
        elif runner.iter == self._first + TIMED:
            step = (time.monotonic() - self._begun) / TIMED
            if step * (runner.max_iters - runner.iter - 1) > LONG:
                runner.logger.info(forecast(runner, step), extra=FOR_PEOPLE)


def forecast(runner: Runner, step: float) -> str:
    """Return how long a run takes at so many seconds per step, and options with which it takes hours."""
    days = step * (runner.max_iters - runner.iter - 1) / (24 * HOUR)
    size = max(crop_sizes(runner.cfg.train_dataloader), default=0)
    epoch = step * runner.max_iters / runner.max_epochs
    options = [f'--epochs {WANTED / epoch:.0f}'] if epoch <= WANTED else []
    if size > SMALL and (small := epoch * (SMALL / size) ** 2) <= WANTED:  # the cost of a view is that of its pixels
        options.append(f'--image-size {SMALL} --epochs {WANTED / small:.0f}')
    return (
        f'WARNING: at {step:.2g} s per step on this CPU, {days:.3g} days are left; about {WANTED / HOUR:.0f} hours '
        f'take {" or ".join(options) or "fewer images"}, with another --out'
    )
