"""A work dir is held by one run at a time."""

import atexit
import contextlib
import fcntl
import os
import re
import shutil
import socket
import stat
from pathlib import Path

from mmengine.hooks import Hook
from mmengine.runner import Runner

from mixcl.errors import UserError

LOCK = 'run.lock'
OF_A_START = re.compile(r'\d{8}_\d{6}$|.*\.py$')
"""What mmengine writes when a run is built: a folder for the log, and the config."""


class Traces:
    """What mmengine makes from now on in a folder, which may be missing."""

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
    """Says in a work dir, which is made, that a living run writes there.

    The run holds the file ``run.lock``, which names its process and machine, as long as it lives: the system lets go of
    what a killed process held. Other machines see that as far as the file system passes locks on, as NFS does.
    """

    def __init__(self, work_dir: str | Path) -> None:
        self.path = Path(work_dir, LOCK)
        self._handle: int | None = None
        self._traces = Traces(work_dir)

    def acquire(self) -> None:
        """Take the lock until :meth:`release`; raises UserError if another run has it, or no file can be written."""
        folder = self.path.parent
        try:
            folder.mkdir(parents=True, exist_ok=True)
            while self._handle is None:
                self._try()
        except (FileExistsError, NotADirectoryError) as error:
            raise UserError(f'the work dir {folder} is a file; choose another one') from error
        except OSError as error:
            raise UserError(f'the work dir {folder} cannot be written to: {error.strerror}; choose another') from error
        atexit.register(self.release)

    def release(self) -> None:
        """Let others in."""
        if self._handle is not None:
            with contextlib.suppress(OSError):  # of a disk that can no longer be written: the run is over all the same
                self.path.unlink(missing_ok=True)
            os.close(self._handle)
            self._handle = None
            atexit.unregister(self.release)

    def abandon(self) -> None:
        """Release it, and remove what was made since: the run could not be started."""
        self.release()
        self._traces.remove()

    def _try(self) -> None:
        """Hold the file, unless its holder removes it at this moment."""
        with contextlib.suppress(FileNotFoundError):
            found = self.path.lstat()
            if not stat.S_ISREG(found.st_mode) or found.st_nlink > 1:
                raise UserError(
                    f'{self.path} is a link, a folder or a pipe, which no run makes: remove it, or choose another'
                )
        handle = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o666)
        try:
            # lockf and not flock, whose locks live on in data workers when the run was killed.
            fcntl.lockf(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except (BlockingIOError, PermissionError):
            holder = os.read(handle, 1000).decode(errors='replace')
            os.close(handle)
            raise UserError(
                f'{self.path.parent} is in use by {holder or "another run"}: wait until it has ended, or choose another'
            ) from None
        except OSError:
            pass  # a file system without locks
        with contextlib.suppress(FileNotFoundError):
            if os.path.samestat(os.fstat(handle), self.path.stat()):
                os.ftruncate(handle, 0)
                os.write(handle, f'a run of process {os.getpid()} on {socket.gethostname()}'.encode())
                self._handle = handle
                return
        os.close(handle)


class ReleaseHook(Hook):
    """Releases the lock of a run that has ended, where the process lives on."""

    priority = 'LOWEST'

    def __init__(self, lock: RunLock) -> None:
        self.lock = lock

    def after_run(self, runner: Runner) -> None:
        self.lock.release()
