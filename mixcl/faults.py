"""Sentences that report unforeseen errors, and what the system did to a program."""

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
        r'Too many open files|received 0 items of ancdata',
        'more files are open than this process may have: raise the limit (ulimit -n 4096) or use fewer processes that '
        'load images (num_workers)',
    ),
    (
        r'File too large',
        'a file would be larger than this process may write: raise the limit (ulimit -f unlimited)',
    ),
    (
        r'os error (28|122)\b|inline_container\.cc.* unexpected pos',  # from safetensors, and torch.save
        'a file cannot be written, most likely because the disk is full: make room, or choose another folder',
    ),
    (
        r'DataLoader worker .* Bus error|unable to allocate shared memory|No space left .*multiprocessing/synchr',
        'a process that loads images ran out of shared memory: enlarge /dev/shm (docker run --shm-size=16g) or use '
        'fewer processes (num_workers)',
    ),
    (
        r'DataLoader worker .* (killed by signal|exited unexpectedly)|process pool was terminated abruptly',
        'a process that loads images was killed, most likely by the system because memory ran out (dmesg tells): use '
        'fewer of them (num_workers), smaller batches, or more memory',
    ),
)
"""What the system does to a run: patterns of the libraries' messages, and a sentence with likely cause and cure."""

LENGTH = 300
"""Number of characters after which an error is cut off in a sentence; the traceback file has all of them."""

FAILURES = (Exception, SystemExit, GeneratorExit)
"""What must not end a command as if all were well; Ctrl-C and RunStopped end it on purpose."""

FULL = (errno.ENOSPC, errno.EDQUOT, errno.EROFS)


def printable(text: str) -> str:
    """Escape, as Python does, characters that would move the cursor, begin a line, or cannot be displayed."""
    return ''.join(one if one.isprintable() else ascii(one)[1:-1] for one in text)


def system_fault(error: BaseException) -> str | None:
    """Say what the system did, with likely cause and cure (a full disk, a killed process); None for other errors."""
    place = traceback.extract_tb(error.__traceback__)[-1:]
    text = ' '.join([*str(error).split(), *(frame.filename for frame in place)])
    known = next((sentence for pattern, sentence in SYSTEM_FAULTS if re.search(pattern, text)), None)
    if known is None and isinstance(error, OSError) and error.errno in FULL:
        file = printable(str(error.filename or 'a file'))
        return f'{file} cannot be written ({error.strerror}): make room, or choose another folder'
    return known


def fault_sentence(error: BaseException) -> str:
    """Return a sentence on what the system did, or else on the error, whose traceback goes to a file.

    The latter has the error, the line that raised it, the file, and what is saved (:func:`noting_run`).
    """
    known = system_fault(error)
    if known is not None:
        return known
    text = ''.join(traceback.format_exception(error))
    what = f'sys.exit({error}) was called' if isinstance(error, SystemExit) else f'{type(error).__name__}: {error}'
    if 'Original Traceback' in what:  # torch puts the traceback of a data worker into the message
        what = what.strip().rpartition('\n')[2]
    what = printable(' '.join(what.split())[:LENGTH]).rstrip(': ')
    folder, saved = getattr(error, 'of_run', (None, ''))
    file = _written(text, folder)
    where = f'the traceback is in {file}' if file else 'MIXCL_TRACEBACK=1 shows the traceback'
    return '; '.join(filter(None, [f'{what} ({_place(text)})', where, saved]))


def _place(text: str) -> str:
    """Return file and line of the innermost frame of a traceback that is not Python's or another package's."""
    frames = re.findall(r'^ *File "(.+)", line (\d+)', text, re.MULTILINE)
    others, package = (sysconfig.get_path('stdlib'), sysconfig.get_path('purelib')), str(Path(__file__).parent)
    own = [frame for frame in frames if frame[0].startswith(package) or not frame[0].startswith((*others, '<'))]
    return ':'.join((own or frames)[-1])


def _written(text: str, folder: Path | None) -> str | None:
    """Write a text to a new file in ``folder``, or else among temporary files; return its path, or None on failure."""
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
def noting_run(folder: str | Path, saved: Callable[[], str]) -> Iterator[None]:
    """Note on an error in which folder of a run its traceback belongs, and what is saved."""
    try:
        yield
    except FAILURES as error:
        error.of_run = Path(folder), saved()  # type: ignore[union-attr]
        raise
