"""Errors that are meant for the person at the keyboard, not for a debugger."""

import os
import re
import signal
import sys
import time
import traceback
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import FrameType
from typing import NoReturn

from mixcl.faults import FAILURES, fault_sentence, printable, system_fault

PATIENCE = 10.0
"""Seconds for which the other processes wait so that the first one can report the error."""

RANKS = ('RANK', 'OMPI_COMM_WORLD_RANK', 'SLURM_PROCID')
"""Environment variables in which a launcher tells a process its rank."""

LOST_PEER = r'gloo.*(Connection|Broken pipe|Timed out)|Connection (closed|reset) by peer|remote process exited'
"""Pattern of torch's errors when another process of the run has ended; that process says why."""


def first_few(names: Iterable[str]) -> str:
    """Name at most five things, one after the other."""
    shown = [*map(printable, names)]
    return ', '.join(shown[:5]) + (', ...' if shown[5:] else '')


class UserError(ValueError):
    """Error in something that the user gave: one sentence says what was wrong, which value, and what to do.

    The command-line tools print the sentence without a traceback; Python callers may catch the ``ValueError``. Settings
    have their Python names in single backticks; a command shows its own options instead (:func:`with_options`).
    """

    on_one_process_only = False
    """Whether only one process of a distributed run meets the error; if all meet it, the first one reports it."""

    def __init__(self, message: str) -> None:
        # torch re-raises an error of a data worker with the worker's traceback before the sentence.
        super().__init__(
            '\n'.join(map(printable, message.rpartition(f'{type(self).__name__}: ')[2].strip().split('\n')))
        )


class RunStopped(BaseException):
    """End of a run that was asked to stop before its last step, and has saved everything.

    Like KeyboardInterrupt it is not an ``Exception``, so error handlers do not catch it.
    """

    exit_status = 85
    """Exit status of a program that should be started again with ``--resume``; batch scripts may requeue on it."""


_afterwards = ''
"""Advice of the current command on what the user can do next."""

_options: dict[str, str] = {}
"""Options of the current command, by the Python names of its settings."""


def with_options(text: str) -> str:
    """Rewrite settings in a message as options: ``image_size=160`` in single backticks becomes ``--image-size 160``."""

    def option(setting: re.Match) -> str:
        name, value = setting.groups()
        return ' '.join(filter(None, [_options[name], value])) if name in _options else setting[0]

    return re.sub(r'`(\w+)(?:=([^`]*))?`', option, text)


@contextmanager
def reported_to_user(afterwards: str = '', options: dict[str, str] | None = None) -> Iterator[None]:
    """Turn every error of a command-line tool into one sentence on the standard error, and an exit status.

    - :class:`UserError`, or something the system did to the program (:func:`~mixcl.faults.system_fault`): status 2.
    - An unforeseen error, or ``sys.exit`` of a part, which would look like success: status 1, and the sentence of
      :func:`~mixcl.faults.fault_sentence`.
    - :class:`RunStopped`: status 85. Ctrl-C without a run to save: 130. See also :func:`stop_at_once`.

    ``afterwards`` says what the user can do next; ``options`` has the options of the command, by names of settings.
    ``MIXCL_TRACEBACK=1`` in the environment shows tracebacks, for people who write their own parts.
    """
    global _afterwards, _options
    _afterwards, _options = afterwards, options or {}
    try:
        yield
    except RunStopped as stop:
        # When the first process has ended, a launcher may send this signal to the others.
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        _note_status(stop.exit_status)
        if is_first_process():
            with suppress(OSError):  # after SIGHUP the terminal is gone
                print(with_options('; '.join(filter(None, [str(stop), afterwards]))), file=sys.stderr)
        sys.exit(stop.exit_status)
    except KeyboardInterrupt:
        print('\n' + ': '.join(filter(None, ['interrupted', afterwards])), file=sys.stderr)
        sys.exit(130)
    except FAILURES as error:
        if os.environ.get('MIXCL_TRACEBACK') and not isinstance(error, SystemExit):
            raise
        _end_by(error)


def stop_at_once(number: int, frame: FrameType | None) -> None:
    """End a command that has nothing to save, after a signal: print a line, exit with status 85, or 130 after Ctrl-C.

    Raises no exception, because imports and libraries swallow exceptions or turn them into others.
    """
    with suppress(Exception):  # for example, the signal interrupted a write to the stream
        sys.stdout.flush()
    status = 130 if number == signal.SIGINT else RunStopped.exit_status
    if status == RunStopped.exit_status:
        _note_status(status)
    name = 'interrupted' if number == signal.SIGINT else f'stopped by {signal.Signals(number).name}'
    with suppress(OSError):  # after SIGHUP the terminal is gone
        if is_first_process():
            os.write(2, f'\n{": ".join(filter(None, [name, _afterwards]))}\n'.encode())
    os._exit(status)


def launcher_tells(error: BaseException | None) -> bool:
    """Whether an error only says that another process has ended; torchrun names a process that was on this machine."""
    return re.search(LOST_PEER, str(error)) is not None and 'TORCHELASTIC_RUN_ID' in os.environ


def _end_by(error: BaseException) -> NoReturn:
    # torchrun kills all processes as soon as one has failed, even the one that is about to report why. Status 85 would
    # wrongly say that they were asked to stop.
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    with suppress(OSError):  # its reader is gone
        sys.stdout.flush()
    _tell(error)
    sys.exit(2 if isinstance(error, UserError) or system_fault(error) else 1)


def _note_status(status: int) -> None:
    """Write the exit status to a file, for launchers that do not return it."""
    if os.environ.get('MIXCL_STATUS_FILE'):
        Path(os.environ['MIXCL_STATUS_FILE']).write_text(f'{status}\n')


def _tell(error: BaseException) -> None:
    """Print an error, if this process of a distributed run is the one to report it.

    All processes meet most UserErrors, so the first one reports them. An unforeseen error may have happened to any one
    process, so the others report theirs, too, if the launcher has not ended them before.
    """
    if launcher_tells(error):
        # If the lost process is on this machine, torchrun ends this one before. If not, one per machine reports.
        first = os.environ.get('LOCAL_RANK') == '0'
        time.sleep(PATIENCE if first else 2 * PATIENCE)
        if first:
            lost = 'another process of this run has ended, or cannot be reached'
            print('error: ' + '; '.join(filter(None, [lost, _afterwards])), file=sys.stderr, flush=True)
        return
    expected = isinstance(error, UserError)
    concerned = is_first_process() or getattr(error, 'on_one_process_only', False)
    sentence = str(error) if expected else '; '.join(filter(None, [fault_sentence(error), _afterwards]))
    if not concerned:
        time.sleep(PATIENCE)
    if concerned or not expected:
        print(f'error: {with_options(sentence)}', file=sys.stderr, flush=True)


@contextmanager
def as_user_error(what: str) -> Iterator[None]:
    """Turn an error of a class about its arguments into a UserError; ``what`` names the class, as in the config."""
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


def is_first_process() -> bool:
    return next((os.environ[name] for name in RANKS if name in os.environ), '0') == '0'
