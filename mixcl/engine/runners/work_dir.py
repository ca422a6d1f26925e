"""Work dir of a run: free of checkpoints of another run, and held by one run at a time."""

import fcntl
import os
import socket
from collections.abc import Mapping
from pathlib import Path

from mmengine.config import Config
from mmengine.hooks import Hook
from mmengine.runner import Runner

from mixcl.errors import UserError
from mixcl.files import checksum_path, open_lock
from mixcl.recipes.paths import kind_of, walk

LOCK = 'run.lock'


def checkpoints_in(work_dir: str | Path) -> list[Path]:
    """Return the checkpoints that a run has written into a work dir, sorted by name."""
    return sorted(path for kind in ('epoch', 'iter', 'best') for path in Path(work_dir).glob(f'{kind}_*.pth'))


def check_unused(cfg: Config, overwrite: bool) -> None:
    """Refuse a work dir with the checkpoints of another run, unless they are to be removed.

    Raises:
        UserError: if they are to be kept, or the run starts from one of those to be removed.
    """
    found, source, folder = checkpoints_in(cfg.work_dir), cfg.get('load_from'), Path(cfg.work_dir).resolve()
    nodes = [node for _, node in walk(cfg.to_dict()) if isinstance(node, Mapping)]
    kinds = ('PretrainedBackboneHook', 'Pretrained')
    taken = [source, *(node.get('checkpoint') for node in nodes if kind_of(node) in kinds)]
    inside = [file for file in taken if file and folder in _places(file)]
    continued = cfg.get('resume') and (not source or source in inside)
    if found and overwrite and (inside or continued):
        raise UserError(
            f'`overwrite` removes the checkpoints of {cfg.work_dir}, but the run starts from {[*inside, *found][0]}: '
            'choose another folder for this one'
        )
    if found and not overwrite and not continued:
        raise UserError(
            f'{cfg.work_dir} holds {len(found)} checkpoint(s) of another run, such as {found[-1].name}: continue that '
            'run with `resume` alone, choose another folder, or remove its checkpoints with `overwrite`'
        )


def _places(file: str) -> tuple[Path, Path]:
    """Return the paths of a file or folder and of its parent, resolved."""
    path = Path(file).expanduser()
    return path.resolve(), path.parent.resolve()


def remove_checkpoints(work_dir: str | Path) -> None:
    """Remove the files from which an earlier run would resume; its logs, in folders of their own, stay."""
    for path in (*checkpoints_in(work_dir), Path(work_dir, 'last_checkpoint')):
        path.unlink(missing_ok=True)
        checksum_path(path).unlink(missing_ok=True)


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
