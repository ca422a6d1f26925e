"""Lock that keeps two runs from writing into one work dir."""

import fcntl
import os
import socket
from pathlib import Path

from mmengine.hooks import Hook
from mmengine.runner import Runner

from mixcl.errors import UserError
from mixcl.files import open_lock

LOCK = 'run.lock'


class RunLock(Hook):
    """Lock on a work dir while a run writes there; it is a hook, so that it is released when the run ends.

    While the run lives, the system locks the file ``run.lock``, which names its process and machine. Other machines
    see the lock if the file system passes locks on, as NFS does. The file itself stays.
    """

    priority = 'LOWEST'

    def __init__(self, work_dir: str | Path) -> None:
        self.path = Path(work_dir, LOCK)
        self._handle: int | None = None

    def acquire(self) -> None:
        """Take the lock until :meth:`release`; raise UserError if another run has it, or no file can be written."""
        folder = self.path.parent
        try:
            folder.mkdir(parents=True, exist_ok=True)
            self._handle = open_lock(self.path)
            self._lock()
            os.ftruncate(self._handle, 0)
            os.write(self._handle, f'a run of process {os.getpid()} on {socket.gethostname()}'.encode())
        except OSError as error:
            raise UserError(f'the work dir {folder} cannot be used ({error}); choose another one') from error

    def release(self) -> None:
        """Release the lock, if it is held."""
        if self._handle is not None:
            os.close(self._handle)
            self._handle = None

    def after_run(self, runner: Runner) -> None:
        self.release()

    def _lock(self) -> None:
        assert self._handle is not None
        try:
            # lockf and not flock, whose locks live on in data workers after the run was killed.
            fcntl.lockf(self._handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except (BlockingIOError, PermissionError):
            holder = os.read(self._handle, 1000).decode(errors='replace')
            self.release()
            raise UserError(
                f'{self.path.parent} is in use by {holder or "another run"}: wait until it has ended, or choose another'
            ) from None
        except OSError:
            pass  # a file system without locks
