"""Progress of long work: live lines on a terminal, a line every half minute in a file or pipe."""

import os
import sys
import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from datetime import timedelta
from typing import ClassVar, TextIO, TypeVar

from mmengine.dist import is_main_process
from rich import progress as rich_progress
from rich.console import Console
from rich.text import Text

Item = TypeVar('Item')

REDRAWN = 0.5
"""Seconds between two updates of the live lines."""

SILENCE = 30.0
"""Seconds between two lines in a file or pipe."""


class Progress:
    """Progress of one piece of work, shown by the first process.

    A terminal has a line for each open piece of work, which changes in place. A file or pipe gets a line about the
    innermost one every 30 seconds, however long a step takes.

    Args:
        what: name of the work, for example 'kNN features'; may change on the way.
        total, unit, done: number of its parts, what they are called, and how many were done before.
    """

    _open: ClassVar[list['Progress']] = []
    _lines: ClassVar['_Lines']
    _shown: ClassVar[float] = time.monotonic()

    def __init__(self, what: str, total: int, unit: str = 'steps', done: int = 0) -> None:
        self.what = what
        self._total, self._unit, self._done = total, unit, done

    def __enter__(self) -> 'Progress':
        if is_main_process():
            self._open.append(self)
            if len(self._open) == 1:
                Progress._lines = _Lines()
                self._lines.start()
            self._task = self._lines.add_task(
                self.what, total=self._total, completed=self._done, unit=self._unit, note=''
            )
            self._lines.refresh()
        return self

    def __exit__(self, *_: object) -> None:
        if self in self._open:
            self._open.remove(self)
            self._lines.remove_task(self._task)
            self._lines.refresh()
            if not self._open:
                self._lines.stop()

    def update(self, done: int, note: str = '') -> None:
        """Set how many parts are done; redraw if it is time."""
        if self in self._open:
            self._lines.update(self._task, description=self.what, completed=done, note=note)
            if not self._lines.disable and time.monotonic() - Progress._shown >= REDRAWN:
                Progress._shown = time.monotonic()
                self._lines.refresh()


def progress(items: Iterable[Item], what: str, total: int, unit: str = 'batches') -> Iterator[Item]:
    """Yield items and show how many are done; ``what``, ``total`` and ``unit`` as for :class:`Progress`."""
    with Progress(what, total, unit) as shown:
        for done, item in enumerate(items, start=1):
            yield item
            shown.update(done)


@contextmanager
def closing_progress() -> Iterator[None]:
    """Close every :class:`Progress` opened in a ``with`` block, also if the block fails."""
    before = len(Progress._open)
    try:
        yield
    finally:
        for opened in reversed(Progress._open[before:]):
            opened.__exit__()


def say(text: str, stream: TextIO) -> None:
    """Write a line to a stream: on a terminal, above the live lines."""
    if Progress._open and not Progress._lines.disable:
        Progress._lines.console.out(text, highlight=False)
    else:
        print(text, file=stream, flush=True)


class _Lines(rich_progress.Progress):
    """rich's live lines, one for each piece of work; outside a terminal, a thread prints the last one at times.

    rich's own thread is not used, because it might be drawing while data workers are forked.
    """

    def __init__(self) -> None:
        live = sys.stdout.isatty() and os.environ.get('TERM') != 'dumb'
        super().__init__(
            console=Console(file=sys.stdout, force_terminal=live, force_jupyter=False),
            auto_refresh=False,
            transient=True,
            redirect_stdout=False,
            redirect_stderr=False,
            disable=not live,
            speed_estimate_period=600,
        )

    def start(self) -> None:
        super().start()
        self.console.show_cursor()  # a killed command could not bring it back
        if self.disable:
            threading.Thread(target=self._print_now_and_then, daemon=True).start()

    def get_renderables(self) -> Iterator[Text]:
        yield from (Text(_line(task), no_wrap=True, overflow='ellipsis') for task in self.tasks)

    def _print_now_and_then(self) -> None:
        while Progress._open and Progress._lines is self:
            if time.monotonic() - Progress._shown >= SILENCE:
                Progress._shown = time.monotonic()
                with suppress(IndexError, OSError, ValueError):  # the work has just ended, or the reader is gone
                    print(f'{time.strftime("%H:%M:%S")} {_line(self.tasks[-1])}', flush=True)
            time.sleep(1)


def _line(task: rich_progress.Task) -> str:
    speed = task.finished_speed or task.speed or 0.0
    left = '?' if task.time_remaining is None else timedelta(seconds=task.time_remaining)
    done = f'{task.description}: {task.completed:.0f}/{task.total:.0f} {task.fields["unit"]}'
    rate = f'{speed:{".3g" if speed < 100 else ".0f"}} {task.fields["unit"]}/s'
    return ', '.join(filter(None, [done, rate, f'{left} left', task.fields['note']]))
