"""Errors that nothing foresaw, and what the system does to a program, told in a sentence."""

import errno
import os
import re
import sysconfig
import tempfile
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

SYSTEM_FAULTS = (
    (
        r'os error (28|122)\b|inline_container\.cc.* unexpected pos',  # of safetensors, and of torch.save
        'a file cannot be written, most likely because the disk is full: make room, or choose another folder',
    ),
    (
        r'DataLoader worker .* Bus error|unable to allocate shared memory',
        'a process that loads images ran out of shared memory: enlarge /dev/shm (docker run --shm-size=16g) or use '
        'fewer processes (num_workers)',
    ),
    (
        r'DataLoader worker .* (killed by signal|exited unexpectedly)|process pool was terminated abruptly',
        'a process that loads images was killed, most likely by the system because memory ran out (dmesg tells): use '
        'fewer of them (num_workers), smaller batches, or more memory',
    ),
)
"""What the system does to a run: how libraries put it, and the likely cause and cure."""

LENGTH = 300
"""Letters of an error that a sentence has; the file with its traceback has all."""

FULL = (errno.ENOSPC, errno.EDQUOT, errno.EROFS)


def printable(text: str) -> str:
    """A name for people: what would move the cursor, begin a line, or has no character, is written as in Python."""
    return ''.join(one if one.isprintable() else ascii(one)[1:-1] for one in text)


def system_fault(error: BaseException) -> str | None:
    """What the system did to the program, with likely cause and cure: a full disk, a killed process; else None."""
    if isinstance(error, OSError):
        place = printable(str(error.filename or 'a file'))
        full = f'{place} cannot be written ({error.strerror}): make room, or choose another folder'
        return full if error.errno in FULL else None
    text = ' '.join(str(error).split())
    return next((sentence for pattern, sentence in SYSTEM_FAULTS if re.search(pattern, text)), None)


def fault_sentence(error: Exception) -> str:
    """What the system did; or else the error, the line that raised it, the file that now has the traceback, and what
    is saved (:func:`with_run`).
    """
    known = system_fault(error)
    if known is not None:
        return known
    text = ''.join(traceback.format_exception(error))
    what = f'{type(error).__name__}: {error}'
    if 'Original Traceback' in what:  # of a data worker, which torch puts into the message
        what = what.strip().rpartition('\n')[2]
    what = printable(' '.join(what.split())[:LENGTH])
    folder, saved = getattr(error, 'of_run', (None, ''))
    file = _written(text, folder)
    where = f'the traceback is in {file}' if file else 'MIXCL_TRACEBACK=1 shows the traceback'
    return '; '.join(filter(None, [f'{what} ({_place(text)})', where, saved]))


def _place(text: str) -> str:
    """File and line of the innermost frame of a traceback that is not Python's or another package's."""
    frames = re.findall(r'^ *File "(.+)", line (\d+)', text, re.MULTILINE)
    others, package = (sysconfig.get_path('stdlib'), sysconfig.get_path('purelib')), str(Path(__file__).parent)
    own = [frame for frame in frames if frame[0].startswith(package) or not frame[0].startswith((*others, '<'))]
    return ':'.join((own or frames)[-1])


def _written(text: str, folder: Path | None) -> str | None:
    """The new file with a text, in a folder or, where that cannot be written, that of temporary files; None if none."""
    for place in (folder, None):
        with suppress(OSError):
            handle, path = tempfile.mkstemp('.txt', 'traceback_', place)
            try:
                with open(handle, 'w', errors='replace') as file:
                    file.write(text)
                return path
            except OSError:
                os.unlink(path)
    return None


@contextmanager
def with_run(folder: str | Path, saved: Callable[[], str]) -> Iterator[None]:
    """Note on errors that nothing foresaw in which folder of a run their tracebacks belong, and what is saved."""
    try:
        yield
    except Exception as error:
        error.of_run = Path(folder), saved()  # type: ignore[attr-defined]
        raise
