"""Errors that are meant for the person at the keyboard, not for a debugger."""

import errno
import os
import re
import signal
import sys
import sysconfig
import tempfile
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

PATIENCE = 10.0
"""Seconds for which the other processes wait so that the first one can report the error."""

RANKS = ('RANK', 'OMPI_COMM_WORLD_RANK', 'SLURM_PROCID')
"""Variables in which a launcher tells a process its number."""

SYSTEM_FAULTS = (
    (
        r'DataLoader worker .* Bus error',
        'a process that loads images ran out of shared memory: enlarge /dev/shm (docker run --shm-size=16g) or use '
        'fewer processes (train_dataloader.num_workers, --workers)',
    ),
    (
        r'DataLoader worker .* (killed by signal|exited unexpectedly)|process pool was terminated abruptly',
        'a process that loads images was killed, most likely by the system because memory ran out (dmesg tells): use '
        'fewer of them (train_dataloader.num_workers, --workers), smaller batches, or more memory',
    ),
)
"""What the system does to a run: how torch puts it, and the likely cause and cure."""

LOST_PEER = r'gloo.*(Connection|Broken pipe|Timed out)|Connection (closed|reset) by peer|remote process exited'
"""How torch says that another process of the run has ended, which is the one to say why."""

LENGTH = 300
"""Letters of an error that a sentence has; the file with its traceback has all."""

FULL = (errno.ENOSPC, errno.EDQUOT, errno.EROFS)


def printable(text: str) -> str:
    """A name for people: what would move the cursor, begin a line, or has no character, is written as in Python."""
    return ''.join(one if one.isprintable() else ascii(one)[1:-1] for one in text)


class UserError(ValueError):
    """Something that the user gave cannot work: one sentence says what was wrong, which value, and what to do.

    The command-line tools print it without a traceback; Python callers may catch it as a ``ValueError``.
    """

    of_one_process = False
    """Whether only one process of a distributed run meets the error; if all meet it, the first one reports it."""

    def __init__(self, message: str) -> None:
        # torch re-raises an error of a data worker with the worker's traceback before the sentence.
        super().__init__(
            '\n'.join(map(printable, message.rpartition(f'{type(self).__name__}: ')[2].strip().split('\n')))
        )


class RunStopped(BaseException):
    """A run that was asked to stop before its last step, and has saved everything.

    Like KeyboardInterrupt it is no ``Exception``, so handlers of errors do not catch it.
    """

    exit_status = 85
    """Status of a program that should be started again with ``--resume``; batch scripts may requeue on it."""


@contextmanager
def reported_to_user(afterwards: str = '') -> Iterator[None]:
    """End a command-line tool: every error becomes one sentence on the standard error, and an exit status.

    - :class:`UserError`, or what the system did to the program (:func:`system_fault`): status 2.
    - An error that nothing foresaw: status 1, and :func:`fault_sentence`.
    - :class:`RunStopped`: status 85, also written to the file ``MIXCL_STATUS_FILE``, for launchers that do not return
      it. Ctrl-C without a run to save: 130.

    ``afterwards`` says what the user can do next. ``MIXCL_TRACEBACK=1`` in the environment shows the tracebacks, for
    people who write their own parts.
    """
    try:
        yield
    except RunStopped as stop:
        # When the first process has ended, a launcher may send this signal to the others.
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        if _first_process():
            with suppress(OSError):  # after SIGHUP the terminal is gone
                print(stop, file=sys.stderr)
        if os.environ.get('MIXCL_STATUS_FILE'):
            Path(os.environ['MIXCL_STATUS_FILE']).write_text(f'{stop.exit_status}\n')
        sys.exit(stop.exit_status)
    except KeyboardInterrupt:
        print('\ninterrupted' + (f': {afterwards}' if afterwards else ''), file=sys.stderr)
        sys.exit(130)
    except Exception as error:
        if os.environ.get('MIXCL_TRACEBACK'):
            raise
        with suppress(OSError):  # nobody reads it any longer
            sys.stdout.flush()
        _tell(error, afterwards)
        sys.exit(2 if isinstance(error, UserError) or system_fault(error) else 1)


def _tell(error: Exception, afterwards: str) -> None:
    """Print an error, if this process of a distributed run is the one to tell it.

    All processes meet most UserErrors: the first one tells. What nothing foresaw may have happened to any of them, so
    the others tell it if the launcher has not ended them before.
    """
    if re.search(LOST_PEER, str(error)) and 'TORCHELASTIC_RUN_ID' in os.environ:
        return  # torchrun names the process that has ended
    expected = isinstance(error, UserError)
    concerned = _first_process() or getattr(error, 'of_one_process', False)
    sentence = str(error) if expected else '; '.join(filter(None, [fault_sentence(error), afterwards]))
    # torchrun kills all processes as soon as one has failed, even the one that is about to report why.
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    if not concerned:
        time.sleep(PATIENCE)
    if concerned or not expected:
        print(f'error: {sentence}', file=sys.stderr, flush=True)


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


@contextmanager
def told_as_user_error(what: str) -> Iterator[None]:
    """Let whatever a class says of its arguments become a UserError; ``what`` is its name in the config."""
    try:
        yield
    except UserError:
        raise
    except (
        *(TypeError, ValueError, LookupError, AttributeError),
        *(AssertionError, ArithmeticError, NotImplementedError),
    ) as error:
        place = traceback.extract_tb(error.__traceback__)[-1]
        raise UserError(
            f'{what} cannot be built: {type(error).__name__}: {" ".join(str(error).split())} (at "{place.line}" in '
            f'{Path(place.filename).name}; MIXCL_TRACEBACK=1 shows more)'
        ) from error


def _first_process() -> bool:
    return next((os.environ[name] for name in RANKS if name in os.environ), '0') == '0'
