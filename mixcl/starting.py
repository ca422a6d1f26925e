"""Start of a command: settings of its process, which a mere import of mixcl does not make."""

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
"""Signals of ``kill``, torchrun and SLURM's preemption; Ctrl-C; ``sbatch --signal=USR1@120``; a closing terminal."""

IGNORED_WARNINGS = (
    # mmcv and mmdet, at every import, in every worker. Pretraining needs none of it.
    'Fail to import ``MultiScaleDeformableAttention``',
    'faster_coco_eval is not installed',
    'Setting (OMP|MKL)_NUM_THREADS environment variable',
    # torch, at every loader, where a config or an option asks for more workers than there are cores.
    'This DataLoader will create',
    # When the first step is refused, or gradients are accumulated.
    r'Detected call of `scheduler\.step\(\)` before',
    # In notebooks without ipywidgets, about progress bars that nobody sees.
    'IProgress not found',
    # mmcv, at every call of ColorJitter's saturation, whatever its arguments.
    r"Only use 'alpha' for pillow backend\.$",
    # Pillow, about large images, for which mixcl has its own limit.
    r'Image size \(\d+ pixels\) exceeds limit',
)
"""Ignored warnings of other libraries, about things that neither the user nor the config decides."""


def begin(name: str) -> None:
    """Prepare the process of a command whose module has this ``__name__``; do nothing if the module is imported.

    From here to the first step of a training, stop signals end the process at once.
    """
    if name != '__main__':
        return
    handle_stop_signals(stop_at_once)
    machine.prepare()
    for message in IGNORED_WARNINGS:
        warnings.filterwarnings('ignore', message=message)


def handle_stop_signals(handler: Callable) -> dict[signal.Signals, Any]:
    """Set a handler of the stop signals in this process, not in those that it forks; return the earlier handlers.

    In a program that ``nohup`` started to outlive its terminal, SIGHUP stays ignored.
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
    """Let the stop signals end forked processes, such as those of a pool, which ends them by SIGTERM.

    A Python handler could not: if a signal comes before the child waits for a lock, it is handled after the wait.
    For the same reason the signals are blocked until the child has reset its handlers.
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
    """Ignore :data:`IGNORED_WARNINGS` in a ``with`` block; filters that others add in the block stay."""
    before = list(warnings.filters)
    for message in IGNORED_WARNINGS:
        warnings.filterwarnings('ignore', message=message)
    added = [one for one in warnings.filters if one not in before]
    try:
        yield
    finally:
        warnings.filters[:] = [one for one in warnings.filters if one not in added]  # type: ignore[index]
