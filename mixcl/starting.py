"""How a command starts: what it sets in its process, which a mere import of mixcl does not."""

import os
import signal
import threading
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

from mixcl import machine
from mixcl.errors import stop_at_once

STOP_SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGUSR1, signal.SIGHUP)
"""Of ``kill``, torchrun and SLURM's preemption; of Ctrl-C; of ``sbatch --signal=USR1@120``; of a closing terminal."""

OF_OTHERS = (
    # mmcv and mmdet, at every import, in every worker. Pretraining needs none of it.
    'Fail to import ``MultiScaleDeformableAttention``',
    'faster_coco_eval is not installed',
    'Setting (OMP|MKL)_NUM_THREADS environment variable',
    # Said where the first step is refused, or gradients are accumulated.
    r'Detected call of `scheduler\.step\(\)` before',
    # In notebooks without ipywidgets, of progress bars that nobody sees.
    'IProgress not found',
    # mmcv, at every call of ColorJitter's saturation, whatever its arguments are.
    r"Only use 'alpha' for pillow backend\.$",
    # Pillow, of images for which mixcl has a limit of its own.
    r'Image size \(\d+ pixels\) exceeds limit',
)
"""Warnings of other libraries about what neither the user nor the config decides."""


def begin(name: str) -> None:
    """Prepare the process of a command whose module has this ``__name__``: nothing, if it is imported.

    Stop signals end it at once from here to the first step of a training.
    """
    if name != '__main__':
        return
    hear(stop_at_once)
    machine.prepare()
    for message in OF_OTHERS:
        warnings.filterwarnings('ignore', message=message)


def hear(handler: Callable) -> dict[signal.Signals, Any]:
    """Set a handler of the stop signals in this process, and not in those that it forks; the handlers before.

    SIGHUP stays ignored in a program that ``nohup`` started, to outlive its terminal.
    """
    _keep_from_forks()
    _own.add(_function(handler))
    outlives = signal.getsignal(signal.SIGHUP) == signal.SIG_IGN
    heard = [number for number in STOP_SIGNALS if not (outlives and number == signal.SIGHUP)]
    return {number: signal.signal(number, handler) for number in heard}


_own: set[Callable] = set()
_before_fork = threading.local()


def _function(handler: Any) -> Any:
    return getattr(handler, '__func__', handler)


@cache
def _keep_from_forks() -> None:
    """Let the stop signals end whatever process is forked, such as those of a pool, which ends them by SIGTERM.

    A handler of Python's could not: a signal that comes before the child waits for a lock is acted on after the wait.
    For the same reason the signals are held back until the child has its own.
    """

    def hold() -> None:
        _before_fork.mask = signal.pthread_sigmask(signal.SIG_BLOCK, STOP_SIGNALS)

    def release() -> None:
        signal.pthread_sigmask(signal.SIG_SETMASK, _before_fork.mask)

    def begin_child() -> None:
        for number in STOP_SIGNALS:
            if _function(signal.getsignal(number)) in _own:
                signal.signal(number, signal.SIG_DFL)
        release()

    os.register_at_fork(before=hold, after_in_parent=release, after_in_child=begin_child)


@contextmanager
def without_warnings_of_others() -> Iterator[None]:
    """Ignore :data:`OF_OTHERS` in a ``with`` block; filters that others add there stay."""
    before = list(warnings.filters)
    for message in OF_OTHERS:
        warnings.filterwarnings('ignore', message=message)
    added = [one for one in warnings.filters if one not in before]
    try:
        yield
    finally:
        warnings.filters[:] = [one for one in warnings.filters if one not in added]  # type: ignore[index]
