"""Signals that ask a run to end: noted, and acted on where nothing is lost."""

import os
import signal
import threading
from types import FrameType
from typing import Any

import torch
from torch import distributed

from mixcl.distributed import host_group
from mixcl.errors import launcher_tells
from mixcl.starting import handle_stop_signals


class StopSignals:
    """Keeps stop signals from ending the program within a ``with`` block; ``received`` is the name of the first.

    A second Ctrl-C ends the program at once. So does, at the end of the block, a SIGTERM that torchrun sent because
    another process has ended: the error that left the block then only says that this process is gone.
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
