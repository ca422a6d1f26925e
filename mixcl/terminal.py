"""What people see of long work: one live line on a terminal, a line every half minute in a file or pipe."""

import io
import os
import sys
import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from typing import Any, ClassVar, TypeVar

from mmengine.dist import is_main_process
from tqdm import tqdm

Item = TypeVar('Item')

REDRAWN = 0.5
"""Seconds between two looks of the live line."""

QUIET, SILENT = 30.0, 50.0
"""Seconds after which a file or pipe may, and must, have another line."""


class Progress:
    """How far one piece of work is, shown by the first process.

    A terminal has one line that changes in place, that of the innermost work which is open. A file or pipe gets a line
    at most every 30 seconds, and at least every 60 while anything is open, however long a step takes.

    Args:
        what: is done, for example 'kNN features'; may change on the way.
        total, unit, done: how many parts it has, what they are called, and how many were done before.
    """

    _open: ClassVar[list['Progress']] = []
    _written: ClassVar[float] = time.monotonic()
    _lock: ClassVar[threading.RLock] = threading.RLock()

    def __init__(self, what: str, total: int, unit: str = 'steps', done: int = 0) -> None:
        self.what = what
        self._total, self._unit, self._done, self._note = total, unit, done, ''
        self._bar: _Line | None = None
        self._drawn = 0.0
        self._ended = threading.Event()

    def __enter__(self) -> 'Progress':
        if is_main_process():
            with self._lock:
                for outer in self._open[-1:]:
                    outer._hide()
                self._open.append(self)
                self._show()
            if len(self._open) == 1 and not on_terminal():
                threading.Thread(target=self._break_silence, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        if self in self._open:
            with self._lock:
                self._hide()
                self._open.remove(self)
                for outer in self._open[-1:]:
                    outer._show()

    def due(self) -> bool:
        """Whether :meth:`update` would be seen, so that what it shows is worth reading from a device."""
        if self._bar is None:
            return False
        now = time.monotonic()
        return now - self._drawn >= REDRAWN if on_terminal() else now - Progress._written >= QUIET

    def update(self, done: int, note: str | None = None) -> None:
        """So many parts are done; shown if it is time."""
        due = self.due()
        self._done, self._note = done, self._note if note is None else note
        if due:
            self._draw()

    def _draw(self) -> None:
        with self._lock:
            if self._bar is None:
                return
            self._drawn = time.monotonic()
            self._bar.set_description_str(self.what, refresh=False)
            self._bar.set_postfix_str(self._note, refresh=False)
            self._bar.update(self._done - self._bar.n)  # shows it, on a terminal
            if not on_terminal():
                Progress._written = self._drawn
                print(f'{time.strftime("%H:%M:%S")} {self._bar}', flush=True)

    def _show(self) -> None:
        # Elsewhere it is only asked how it would look.
        file = sys.stdout if on_terminal() else _Nowhere()
        self._bar = _Line(
            total=self._total, initial=self._done, desc=self.what, unit=self._unit, file=file,
            bar_format='{desc}: {n_fmt}/{total_fmt} {unit}, {speed}, {remaining} left{postfix}',
            leave=False, dynamic_ncols=on_terminal(), mininterval=0, miniters=0, smoothing=0.1,
        )  # fmt: skip

    def _hide(self) -> None:
        if self._bar is not None:
            self._bar.close()
            self._bar = None

    def _break_silence(self) -> None:
        while not self._ended.wait(1):
            if time.monotonic() - Progress._written >= SILENT:
                with suppress(IndexError, OSError, ValueError):  # it has just ended, or nobody can read it any longer
                    Progress._open[-1]._draw()


def progress(items: Iterable[Item], what: str, total: int, unit: str = 'batches') -> Iterator[Item]:
    """Hand out items and show how many are done; ``what``, ``total`` and ``unit`` as for :class:`Progress`."""
    with Progress(what, total, unit) as shown:
        for done, item in enumerate(items, start=1):
            yield item
            shown.update(done)


@contextmanager
def none_left_open() -> Iterator[None]:
    """Close whatever is opened in a ``with`` block, also if that fails."""
    before = len(Progress._open)
    try:
        yield
    finally:
        for opened in reversed(Progress._open[before:]):
            opened.__exit__()


def on_terminal() -> bool:
    """Whether a person looks at what is printed."""
    if not sys.stdout.isatty() or os.environ.get('TERM') == 'dumb':
        return False
    try:
        return os.get_terminal_size(sys.stdout.fileno()).lines > 0  # some pseudo-terminals have none
    except (OSError, ValueError):
        return True


def beside_progress() -> AbstractContextManager:
    """Where something else is written to the terminal: takes the live line away, and puts it back."""
    return tqdm.external_write_mode(file=sys.stdout)


class _Line(tqdm):
    """tqdm's line, with a speed in words; without its thread, and without its lock for other processes."""

    monitor_interval = 0

    @property
    def format_dict(self) -> dict[str, Any]:
        known = super().format_dict
        elapsed = known['elapsed'] or 1
        speed = known['rate'] or (known['n'] - known['initial']) / elapsed
        known['speed'] = f'{speed:{".3g" if speed < 100 else ".0f"}} {known["unit"]}/s'
        return known


_Line.set_lock(threading.RLock())


class _Nowhere(io.StringIO):
    def write(self, text: str) -> int:
        return len(text)
