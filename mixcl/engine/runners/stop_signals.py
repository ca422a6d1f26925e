"""Signals that ask a run to end: noted, and acted on where nothing is lost."""

import multiprocessing
import os
import signal
import threading
from collections.abc import Callable
from functools import partial
from types import FrameType
from typing import Any

import torch
from torch import distributed
from torch.utils.data import DataLoader

from mixcl.distributed import host_group
from mixcl.errors import launcher_tells
from mixcl.starting import STOP_SIGNALS, handle_stop_signals

NICENESS = 10
"""Niceness of data workers if the CPU trains: they work while its threads wait for each other, and interrupt none."""

WATCH_INTERVAL = 2.0
"""Seconds after which a data worker notices that its run was killed."""


class StopSignals:
    """Notes in ``received`` the name of the first stop signal that arrives within a ``with`` block.

    A second SIGINT ends the program at once, as the first would have done outside of the block. When a process has
    ended, torchrun sends SIGTERM to the others: one that gets it before it misses the ended process also ends at once.
    """

    def __init__(self) -> None:
        self.received: str | None = None
        self._previous: dict[signal.Signals, Any] = {}

    def __enter__(self) -> 'StopSignals':
        # Python lets only the main thread set signal handlers.
        if threading.current_thread() is threading.main_thread():
            self._previous = handle_stop_signals(self._note)
        return self

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        for number, handler in self._previous.items():
            signal.signal(number, handler)
        if self.received == 'SIGTERM' and launcher_tells(error):
            signal.signal(signal.SIGTERM, signal.SIG_DFL)
            signal.raise_signal(signal.SIGTERM)

    def _note(self, number: int, frame: FrameType | None) -> None:
        self.received = self.received or signal.Signals(number).name
        if number == signal.SIGINT:
            signal.signal(signal.SIGINT, self._previous[signal.SIGINT])
            if os.environ.get('RANK', '0') == '0':
                # print is not safe within a handler
                os.write(2, b'\nfinishing the step and saving; Ctrl-C again ends at once\n')


class AnyProcess:
    """Vote on whether any process says yes, once per step, without making a GPU or another process wait.

    The votes travel between the hosts while the next step runs. Every process gets the same answer one step after the
    question, a single process at once. All must build the vote, and ask, at the same points of the program.
    """

    def __init__(self) -> None:
        # Between hosts even if gradients travel between GPUs: reading a value from a GPU waits for its queue.
        self._group = host_group()
        self._pending: tuple[distributed.Work, torch.Tensor] | None = None

    def __call__(self, yes: bool) -> bool:
        if self._group is None:
            return yes
        answer = self.finish()
        votes = torch.tensor([int(yes)])
        self._pending = distributed.all_reduce(votes, distributed.ReduceOp.MAX, self._group, async_op=True), votes
        return answer

    def finish(self) -> bool:
        """Wait for the pending answer, if any, and return it. A process that ends before the answer arrives aborts."""
        if self._pending is None:
            return False
        work, votes = self._pending
        work.wait()
        return bool(votes)


def shield_workers(loader: DataLoader) -> None:
    """Let a loader's worker processes survive the stop signals, which may be sent to all processes of a job.

    They end when the run tells them to, and soon after it was killed; torch's own workers may then wait for ever.
    """
    niceness = 0 if torch.cuda.is_available() else NICENESS
    loader.worker_init_fn = partial(_start_shielded, loader.worker_init_fn, niceness)
    # Only torch's own method is called by every loop over the loader.
    loader._get_iterator = partial(_start_with_signals_blocked, loader._get_iterator)  # type: ignore[method-assign]


def kill_workers() -> None:
    """Kill the data workers of this process, at its end: a frozen one would make it wait for ever."""
    on_their_end = signal.signal(signal.SIGCHLD, signal.SIG_DFL)  # torch's handler would raise an error
    workers = [child for child in multiprocessing.active_children() if child.daemon]
    for worker in workers:
        worker.kill()
    for worker in workers:
        worker.join()
    signal.signal(signal.SIGCHLD, on_their_end)


def _start_with_signals_blocked(start: Callable[[], Any]) -> Any:
    """Start workers with the stop signals blocked, until each worker is shielded from them."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, STOP_SIGNALS)
    try:
        return start()
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


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
