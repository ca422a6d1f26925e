"""Processes that load the images of a run: how many, which signals end them, and one that stands still."""

import multiprocessing
import os
import signal
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from functools import cache, partial
from pathlib import Path
from typing import Any

import torch
from mmengine.dist import get_rank
from torch.utils.data import DataLoader
from torch.utils.data.dataloader import _BaseDataLoaderIter, _MultiProcessingDataLoaderIter

from mixcl.errors import UserError
from mixcl.starting import STOP_SIGNALS

NICENESS = 10
"""Niceness of data workers if the CPU trains: they work while its threads wait for each other, and interrupt none."""

WATCH_INTERVAL = 2.0
"""Seconds after which a data worker notices that its run was killed."""

STILL, STILL_IN_STOP = 600.0, 20.0
"""Seconds without a batch after which a data worker that did nothing ends its run; the latter if it is to stop."""

WORKING = 1e-3
"""Share of a core that workers use together at least, unless they stand still or wait for work (2e-5 each)."""


class NoBatch(UserError):
    """Error of a run that waits for a data worker which stands still."""

    on_one_process_only = True


class Loader(DataLoader):
    """torch's loader that raises :class:`NoBatch` when a worker stands still, such as in a read of stuck storage.

    Attributes:
        stopping: whether the run was asked to stop; None for a loader whose workers the stop signals end.
    """

    stopping: Callable[[], bool] | None = None

    def _get_iterator(self) -> _BaseDataLoaderIter:  # only this method of torch's is called by every loop
        # Blocked until each worker is shielded.
        before = signal.pthread_sigmask(signal.SIG_BLOCK, STOP_SIGNALS if self.stopping else ())
        try:
            iterator = super()._get_iterator()
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)
        if isinstance(iterator, _MultiProcessingDataLoaderIter):
            iterator.__class__ = _WatchedIterator
            vars(iterator).update(loader=self)
        return iterator


class _WatchedIterator(_MultiProcessingDataLoaderIter):
    loader: Loader
    stuck, batches = '', 0

    def _try_get_data(self, *args: Any) -> tuple[bool, Any]:
        _watch_for(os.getpid()).waiting = self
        try:
            received = super()._try_get_data(*args)
        except Exception:
            if not self.stuck:
                raise
            received = False, None  # the watch has killed a worker
        if self.stuck:
            kill_workers()
            raise NoBatch(self.stuck)
        if received[0]:
            self.batches += 1
            _watch_for(os.getpid()).waiting = None
        return received


class _Watch(threading.Thread):
    """Thread that kills the workers which did nothing while their process waited for a batch.

    The process itself may wait for ever for a stopped worker, within Python's code that passes on file handles.
    """

    waiting: _WatchedIterator | None = None

    def run(self) -> None:
        batch, begun, used_before = None, 0.0, 0.0
        while True:
            time.sleep(0.5)
            iterator, now = self.waiting, time.monotonic()
            if iterator is None:
                continue
            workers, loader = iterator._workers, iterator.loader
            used = sum(_cpu_seconds(worker.pid) for worker in workers)
            if batch != (id(iterator), iterator.batches):
                batch, begun, used_before = (id(iterator), iterator.batches), now, used
            waited = now - begun
            if waited < (STILL_IN_STOP if loader.stopping and loader.stopping() else STILL):
                continue
            if used - used_before > waited * WORKING:
                begun, used_before = now, used
                continue
            images, named = len(loader.dataset), ', '.join(str(worker.pid) for worker in workers)  # type: ignore[arg-type]
            iterator.stuck = (
                f'process {get_rank()} of this run got no batch of its {images} images for {waited:.0f} s, and what '
                f'loads them (processes {named}) stands still: does the storage of the images answer?'
            )
            for worker in workers:
                worker.kill()
            self.waiting = None


@cache
def _watch_for(process: int) -> _Watch:
    watch = _Watch(daemon=True)  # of this process: a fork has no threads
    watch.start()
    return watch


def _cpu_seconds(process: int | None) -> float:
    with suppress(OSError):  # not Linux
        return int(Path(f'/proc/{process}/schedstat').read_text().split()[0]) / 1e9
    return 0.0


def watched(loader: DataLoader) -> DataLoader:
    """Make a loader a :class:`Loader` with no more workers than batches."""
    if type(loader) is DataLoader:
        loader.__class__ = Loader
        loader.num_workers = min(loader.num_workers, len(loader))
    return loader


def shield_workers(loader: DataLoader, stopping: Callable[[], bool]) -> None:
    """Let a loader's worker processes survive the stop signals, which may be sent to all processes of a job.

    They end when the run tells them to, and soon after it was killed; torch's own workers may then wait for ever.
    ``stopping`` says whether the run was asked to stop.
    """
    niceness = 0 if torch.cuda.is_available() else NICENESS
    loader.worker_init_fn = partial(_start_shielded, loader.worker_init_fn, niceness)
    watched(loader).stopping = stopping


def kill_workers() -> None:
    """Kill the data workers of this process, at its end: a frozen one would make it wait for ever."""
    on_their_end = signal.signal(signal.SIGCHLD, signal.SIG_DFL)  # torch's handler would raise an error
    workers = [child for child in multiprocessing.active_children() if child.daemon]
    for worker in workers:
        worker.kill()
    for worker in workers:
        worker.join(STILL_IN_STOP)
        if worker.is_alive():  # it reads from stuck storage: not even Python's end must wait for it
            multiprocessing.process._children.discard(worker)  # type: ignore[attr-defined]
    signal.signal(signal.SIGCHLD, on_their_end)


def _start_shielded(start: Callable[[int], None] | None, niceness: int, worker: int) -> None:
    os.nice(niceness)
    for number in (signal.SIGINT, signal.SIGUSR1, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    watches = hasattr(signal, 'sigtimedwait')  # not on macOS
    signal.pthread_sigmask(signal.SIG_SETMASK, {signal.SIGTERM} if watches else ())
    if watches:
        threading.Thread(target=_exit_with_parent, args=(os.getppid(),), daemon=True).start()
    if start is not None:
        start(worker)


def _exit_with_parent(parent: int) -> None:
    """End this worker when the training process says so by SIGTERM, or is gone; SIGTERM from others is ignored."""
    while os.getppid() == parent:
        received = signal.sigtimedwait({signal.SIGTERM}, WATCH_INTERVAL)
        if received is not None and received.si_pid == parent:
            break
    os._exit(0)
