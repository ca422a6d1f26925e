"""Errors that are meant for the person at the keyboard, not for a debugger."""

import errno
import os
import re
import signal
import sys
import time
import traceback
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

PATIENCE = 10.0
"""Seconds for which the other processes wait so that the first one can report the error."""

SYSTEM_FAULTS = (
    (
        r'DataLoader worker .* Bus error',
        'a process that loads images ran out of shared memory: enlarge /dev/shm (docker run --shm-size=16g) or use '
        'fewer processes (num_workers)',
    ),
    (
        r'DataLoader worker .* (killed by signal|exited unexpectedly)|process pool was terminated abruptly',
        'a process that loads images was killed, most likely by the system because memory ran out (dmesg tells): use '
        'fewer of them (num_workers), smaller batches, or more memory',
    ),
    (
        r'gloo.*(Connection|Broken pipe|Timed out)|Connection (closed|reset) by peer|remote process exited',
        'another process of this run has ended or cannot be reached; what it or the launcher says tells why',
    ),
)
"""What the system does to a run: how torch puts it, and the likely cause and cure."""

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
def reported_to_user(
    afterwards: str = 'the same command with --resume continues from the last checkpoint',
) -> Iterator[None]:
    """End a command-line tool: a :class:`UserError` with one sentence and status 2, a :class:`RunStopped` with 85.

    What the system did to the program (:func:`system_fault`) is one sentence, too, after which ``afterwards`` says what
    the user can do. Ctrl-C without a run to save exits with 130. The status of a stopped run is also written to the
    file ``MIXCL_STATUS_FILE``, for launchers that do not return it. ``MIXCL_TRACEBACK=1`` in the environment shows the
    tracebacks, for people who write their own parts.
    """
    try:
        yield
    except UserError as error:
        if os.environ.get('MIXCL_TRACEBACK'):
            raise
        sys.stdout.flush()
        if error.of_one_process or _first_process():
            print(f'error: {error}', file=sys.stderr)
        else:
            # torchrun kills all processes as soon as one has failed, even the one that is about to report why.
            signal.signal(signal.SIGTERM, signal.SIG_DFL)
            time.sleep(PATIENCE)
        sys.exit(2)
    except RunStopped as stop:
        # When the first process has ended, a launcher may send this signal to the others.
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        if _first_process():
            with suppress(OSError):  # after SIGHUP the terminal is gone
                print('; '.join(filter(None, [str(stop), afterwards])), file=sys.stderr)
        if os.environ.get('MIXCL_STATUS_FILE'):
            Path(os.environ['MIXCL_STATUS_FILE']).write_text(f'{stop.exit_status}\n')
        sys.exit(stop.exit_status)
    except KeyboardInterrupt:
        print(f'\ninterrupted: {afterwards}', file=sys.stderr)
        sys.exit(130)
    except (RuntimeError, OSError) as error:
        sentence = system_fault(error)
        if sentence is None or os.environ.get('MIXCL_TRACEBACK'):
            raise
        sys.stdout.flush()
        print(f'error: {sentence}; {afterwards}', file=sys.stderr, flush=True)
        signal.signal(signal.SIGTERM, signal.SIG_DFL)  # a launcher ends what is left
        sys.exit(2)


def system_fault(error: BaseException) -> str | None:
    """What the system did to the program, with likely cause and cure: a full disk, a killed process; else None."""
    if isinstance(error, OSError):
        place = printable(str(error.filename or 'a file'))
        full = f'{place} cannot be written ({error.strerror}): make room, or choose another folder'
        return full if error.errno in FULL else None
    text = ' '.join(str(error).split())
    return next((sentence for pattern, sentence in SYSTEM_FAULTS if re.search(pattern, text)), None)


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
    return os.environ.get('RANK', '0') == '0'
