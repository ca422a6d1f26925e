"""The folder of a run: named after its config, and held by one run at a time."""

import atexit
import contextlib
import json
import os
import shutil
import socket
import threading
import time
from pathlib import Path
from typing import Any

from mmengine.config import Config
from mmengine.hooks import Hook
from mmengine.runner import Runner

from mixcl.errors import UserError
from mixcl.files import checksum_path

LOCK = 'run.lock'
HEARTBEAT = 10.0
"""Seconds between two signs of life of a run."""

SILENCE = 45.0
"""Seconds without a sign of life after which a run on another machine counts as dead."""


def default_work_dir(cfg: Config, config_path: str | Path, suffix: str = '') -> str:
    """``work_dirs/<method>/<name of the config file>``, unless the config says otherwise.

    The method is the config's folder below ``configs/``, or elsewhere the name of the folder it lies in.
    """
    path = Path(config_path).resolve().with_suffix('')
    return cfg.get('work_dir') or str(Path('work_dirs', config_name(path, parents=1) + suffix))


def config_name(path: str | Path, parents: int = 0) -> str:
    """The name of a config: its path below ``configs/`` without the ending, or the name of the file elsewhere.

    Args:
        path: of the config.
        parents: how many folders are part of the name elsewhere.
    """
    parts = Path(path).resolve().with_suffix('').parts
    below = len(parts) - parts[::-1].index('configs') if 'configs' in parts else len(parts) - 1 - parents
    return '/'.join(parts[below:])


def checkpoints_in(work_dir: str | Path) -> list[Path]:
    """The checkpoints that a run has written into a work dir, by name."""
    return sorted(path for kind in ('epoch', 'iter', 'best') for path in Path(work_dir).glob(f'{kind}_*.pth'))


class Traces:
    """What appears in a folder from now on.

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
            shutil.rmtree(path) if path.is_dir() else path.unlink()
        with contextlib.suppress(OSError):  # no longer empty
            for path in self._missing:
                path.rmdir()


class RunLock:
    """Says in a work dir that a living run writes there.

    The file names host, process and the start of the process; while the run lives, its time of change is moved on. A
    run that was killed leaves a file that counts no longer: on its own machine at once, elsewhere (a job that was
    requeued) after 45 seconds of silence.

    Args:
        work_dir: is made.
    """

    def __init__(self, work_dir: str | Path) -> None:
        self.path = Path(work_dir, LOCK)
        self._released = threading.Event()
        self._traces = Traces(self.path.parent)

    def acquire(self) -> None:
        """Take the lock, which lasts until :meth:`release` or the end of the process.

        Raises:
            UserError: if another run has it, or no file can be written there.
        """
        owner = dict(host=socket.gethostname(), pid=os.getpid(), started=_start_of(os.getpid()))
        folder = self.path.parent
        try:
            folder.mkdir(parents=True, exist_ok=True)
            other = self._other(owner)
            if other is not None:
                raise UserError(
                    f'{folder} is in use by a run of process {other["pid"]} on {other["host"]}: wait until '
                    'it has ended, or choose another folder with --work-dir'
                )
            self.path.unlink(missing_ok=True)
            with open(self.path, 'x') as file:
                json.dump(owner, file)
        except FileExistsError as error:
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
            self.path.unlink(missing_ok=True)
            atexit.unregister(self.release)

    def abandon(self) -> None:
        """Release it, and remove what was made since it was taken: the run could not be started."""
        if self._released.is_set():
            return
        self.release()
        self._traces.remove()

    def _beat(self) -> None:
        while not self._released.wait(HEARTBEAT):
            with contextlib.suppress(OSError):  # a full or absent disk must not end the run
                os.utime(self.path)

    def _other(self, owner: dict[str, Any]) -> dict[str, Any] | None:
        """Who else holds the lock, and lives."""
        try:
            holder = json.loads(self.path.read_text())
            host, pid, started = (holder[name] for name in owner)
        except FileNotFoundError:
            return None
        except (ValueError, TypeError, KeyError):  # a kill while it was written, or no file of ours
            holder, host, pid, started = dict(host='an unknown machine', pid='?'), None, 0, None
        if host == owner['host']:
            alive = pid != owner['pid'] and started is not None and _start_of(pid) == started
        else:
            alive = self._shows_life()
        return holder if alive else None

    def _shows_life(self) -> bool:
        """Whether the lock is touched before it has been silent for long, by the clock of the disk."""
        probe = self.path.with_name(f'{LOCK}.{os.getpid()}')
        try:
            probe.touch()
            seen = self.path.stat().st_mtime
            silence = probe.stat().st_mtime - seen
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


def check_unused(work_dir: str | Path, resume_from: str | bool | None) -> None:
    """Refuse a work dir with the checkpoints of another run.

    Args:
        work_dir: of the run.
        resume_from: the checkpoint that it continues from; True for the newest of the work dir.

    Raises:
        UserError: if there are checkpoints, and the run does not continue from one of them.
    """
    found = checkpoints_in(work_dir)
    if resume_from and resume_from is not True:
        resume_from = Path(resume_from).resolve().parent == Path(work_dir).resolve()
    if found and not resume_from:
        raise UserError(
            f'{work_dir} holds {len(found)} checkpoint(s) of another run, such as {found[-1].name}: continue that run '
            'with --resume, choose another folder with --work-dir, or remove its checkpoints with --overwrite'
        )


def remove_checkpoints(work_dir: str | Path) -> None:
    """Remove what an earlier run would be resumed from; its logs, in folders of their own, stay."""
    for path in (*checkpoints_in(work_dir), Path(work_dir, 'last_checkpoint')):
        path.unlink(missing_ok=True)
        checksum_path(path).unlink(missing_ok=True)


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
