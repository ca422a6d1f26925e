"""A work dir is held by one run at a time."""

import atexit
import contextlib
import fcntl
import json
import logging
import os
import re
import shutil
import socket
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from mmengine.hooks import Hook
from mmengine.logging import print_log
from mmengine.runner import Runner

from mixcl.errors import UserError

LOCK = 'run.lock'
HEARTBEAT = 10.0
"""Seconds between two signs of life of a run."""

SILENCE = 45.0
"""Seconds without a sign of life after which a run on another machine counts as dead."""

OF_A_START = re.compile(r'\d{8}_\d{6}$|.*\.py$')
"""What mmengine writes when a run is built: a folder for the log, and the config."""


class Traces:
    """What mmengine makes in a folder from now on.

    Args:
        folder: may be missing.
    """

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder)
        self._missing = [path for path in (self.folder, *self.folder.parents) if not path.exists()]
        self._found = set(self.folder.iterdir()) if self.folder.is_dir() else set()

    def remove(self) -> None:
        """Remove it: a run could not be started."""
        for path in set(self.folder.iterdir()) - self._found if self.folder.is_dir() else ():
            if OF_A_START.match(path.name):
                shutil.rmtree(path, ignore_errors=True) if path.is_dir() else path.unlink(missing_ok=True)
        with contextlib.suppress(OSError):  # not empty
            for path in self._missing:
                path.rmdir()


class RunLock:
    """Says in a work dir that a living run writes there.

    The file names machine, process and the start of the process; while the run lives, its time of change is moved on. A
    run that was killed leaves a file that counts no longer: on its own machine at once, elsewhere (a job that was
    requeued, another container) after 45 seconds of silence.

    Args:
        work_dir: is made.
    """

    def __init__(self, work_dir: str | Path) -> None:
        self.path = Path(work_dir, LOCK)
        self._released = threading.Event()
        self._traces = Traces(work_dir)

    def acquire(self) -> None:
        """Take the lock, which lasts until :meth:`release` or the end of the process.

        Raises:
            UserError: if another run has it, or no file can be written there.
        """
        folder, pid = self.path.parent, os.getpid()
        owner = dict(host=socket.gethostname(), machine=_machine(), pid=pid, started=_start_of(pid))
        try:
            folder.mkdir(parents=True, exist_ok=True)
            while not self._taken(owner):
                pass
        except (FileExistsError, NotADirectoryError) as error:
            if not folder.is_dir():
                raise UserError(f'the work dir {folder} is a file; choose another one with --work-dir') from error
            raise UserError(f'another run has just started in {folder}; choose another --work-dir') from error
        except OSError as error:
            raise UserError(
                f'the work dir {folder} cannot be written to: {error.strerror}; choose another one with --work-dir'
            ) from error
        threading.Thread(target=self._beat, daemon=True).start()
        atexit.register(self.release)

    def release(self) -> None:
        """Let others in."""
        if not self._released.is_set():
            self._released.set()
            with contextlib.suppress(OSError):  # of a disk that can no longer be written: the run is over all the same
                self.path.unlink(missing_ok=True)
            atexit.unregister(self.release)

    def abandon(self) -> None:
        """Release it, and remove what was made since: the run could not be started."""
        self.release()
        self._traces.remove()

    def _beat(self) -> None:
        while not self._released.wait(HEARTBEAT):
            with contextlib.suppress(OSError):  # a full or absent disk must not end the run
                os.utime(self.path)

    def _taken(self, owner: dict[str, Any]) -> bool:
        """Take the lock in the place of one that counts no longer; False if somebody has changed it meanwhile."""
        found = self._text()
        if found is not None and self._is_alive(found, owner):
            holder = re.search(r'"host": "([^"]*)".*"pid": (\d+)', found)
            who = f'a run of process {holder[2]} on {holder[1]}' if holder else 'another run'
            raise UserError(
                f'{self.path.parent} is in use by {who}: wait until it has ended, or choose another folder with '
                '--work-dir'
            )
        with _one_at_a_time(self.path.parent):
            if self._text() != found:
                return False
            self.path.unlink(missing_ok=True)
            with open(self.path, 'x') as file:
                json.dump(owner, file)
        return True

    def _text(self) -> str | None:
        try:
            return self.path.read_text()
        except FileNotFoundError:
            return None

    def _is_alive(self, text: str, owner: dict[str, Any]) -> bool:
        try:
            holder = json.loads(text)
            machine, pid, started = (holder[name] for name in ('machine', 'pid', 'started'))
        except (ValueError, TypeError, KeyError):  # a kill while it was written, or no file of ours
            return self._shows_life()
        if machine != owner['machine']:
            return self._shows_life()
        return pid != owner['pid'] and started is not None and _start_of(pid) == started

    def _shows_life(self) -> bool:
        """Whether the lock is touched before it has been silent for long, by the clock of the disk."""
        probe = self.path.with_name(f'{LOCK}.{os.getpid()}')
        try:
            probe.touch()
            seen = self.path.stat().st_mtime
            silence = probe.stat().st_mtime - seen
            if silence < SILENCE:
                message = f'waiting up to {SILENCE - silence:.0f} s for a sign of life of the run that held {self.path}'
                print_log(message, level=logging.WARNING)
            while silence < SILENCE:
                time.sleep(1)
                silence += 1
                if self.path.stat().st_mtime != seen:
                    return True
            return False
        except FileNotFoundError:  # released in the meantime
            return False
        finally:
            probe.unlink(missing_ok=True)


class ReleaseHook(Hook):
    """Releases the lock of a run that has ended, where the process lives on."""

    priority = 'LOWEST'

    def __init__(self, lock: RunLock) -> None:
        self.lock = lock

    def after_run(self, runner: Runner) -> None:
        self.lock.release()


@contextlib.contextmanager
def _one_at_a_time(folder: Path) -> Iterator[None]:
    """Let one process of this machine in, as far as the file system knows such locks."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        with contextlib.suppress(OSError):
            fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


def _machine() -> str:
    """What tells one set of process numbers from another: the start of the machine, and the container."""
    try:
        return f'{Path("/proc/sys/kernel/random/boot_id").read_text().strip()} {os.readlink("/proc/self/ns/pid")}'
    except OSError:  # systems without /proc
        return socket.gethostname()


def _start_of(pid: int) -> str | None:
    """When a process of this machine started, in a form that tells it from a later one; None if there is none."""
    try:
        # The name, in parentheses, may hold spaces; the start is the 22nd field.
        fields = Path(f'/proc/{pid}/stat').read_text().rpartition(')')[2].split()
        return None if fields[0] == 'Z' else fields[19]
    except OSError:
        pass
    if Path('/proc/self').exists():
        return None
    try:  # systems without /proc
        os.kill(pid, 0)
        return 'unknown'
    except OSError:
        return None
