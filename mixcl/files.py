"""Files that appear whole or not at all; each checkpoint has a checksum beside it."""

import errno
import fcntl
import glob
import hashlib
import os
import re
import secrets
import shutil
import stat
import time
import zipfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryFile
from typing import BinaryIO

from mmengine.fileio import LocalBackend, register_backend

from mixcl.errors import UserError

UNFINISHED = '.part'
"""Suffix of a file that is being written, which a kill leaves behind."""

WHOLE_FILES = 'whole_files'
"""Name under which mmengine finds :class:`WholeFileBackend`, for ``backend_args=dict(backend=...)``."""


def open_regular(path: str | Path) -> BinaryIO:
    """Open a regular file for reading; refuse a pipe, on which it might wait, and a device, which may never end.

    Raises:
        OSError: if the file cannot be opened, or is not a regular file.
    """
    handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    kind = os.fstat(handle).st_mode
    if stat.S_ISREG(kind):
        return os.fdopen(handle, 'rb')
    os.close(handle)
    raise OSError(errno.EINVAL, f'a {"folder" if stat.S_ISDIR(kind) else "pipe or a device"}, not a file', str(path))


def read_regular(path: str | Path, most: int) -> bytes:
    """Read a file of at most ``most`` bytes; errors as in :func:`open_regular`."""
    with open_regular(path) as file:
        size = os.fstat(file.fileno()).st_size
        if size > most:
            raise OSError(errno.EFBIG, f'too large: {size:,} bytes, {most:,} are the most', str(path))
        return file.read()


def open_lock(path: str | Path) -> int:
    """Open a file that serves as a lock, and create it if it is missing; refuse links and what is no regular file."""
    handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK, 0o666)
    found = os.fstat(handle)
    if stat.S_ISREG(found.st_mode) and found.st_nlink <= 1:
        return handle
    os.close(handle)
    raise OSError(errno.EINVAL, 'a link to another file, or no file: remove it', str(path))


@contextmanager
def locked(path: str | Path) -> Iterator[OSError | None]:
    """Keep other processes and threads from changing a file; its lock is ``<name>.lock`` beside it, which stays.

    Other machines see the lock if the file system passes locks on, as NFS does. Missing folders are created.

    Yields:
        None, or the error if there is no lock, such as on a file system without locks.
    """
    path, failure = Path(path), None
    path.parent.mkdir(parents=True, exist_ok=True)
    with ExitStack() as undo:
        try:
            handle = open_lock(path.with_name(f'{path.name}.lock'))
            undo.callback(os.close, handle)
            fcntl.flock(handle, fcntl.LOCK_EX)
            undo.callback(fcntl.flock, handle, fcntl.LOCK_UN)  # a process forked meanwhile shares the handle
        except OSError as error:
            failure = error
        yield failure


@contextmanager
def _opened(path: Path, flags: int = os.O_RDONLY) -> Iterator[int]:
    handle = os.open(path, flags, 0o666)
    try:
        yield handle
    finally:
        os.close(handle)


@contextmanager
def _unfinished(path: Path, folder: bool = False) -> Iterator[tuple[Path, int]]:
    """Create a file or folder to become ``path``, of this writer alone, and lock it; in the end, remove it.

    Those older than ten seconds that nobody has locked are removed before: their writers were killed.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    for abandoned in path.parent.glob(f'{glob.escape(path.name)}.{"[0-9a-f]" * 8}{UNFINISHED}'):
        with suppress(OSError), _opened(abandoned, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK) as handle:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)  # an error if its writer lives, or there are no locks
            if time.time() - os.fstat(handle).st_mtime > 10:  # a younger one may be about to be locked
                shutil.rmtree(abandoned) if abandoned.is_dir() else abandoned.unlink()
    unfinished = path.with_name(f'{path.name}.{secrets.token_hex(4)}{UNFINISHED}')
    if folder:
        unfinished.mkdir()
    with _opened(unfinished, os.O_RDONLY if folder else os.O_WRONLY | os.O_CREAT | os.O_EXCL) as handle:
        with suppress(OSError):
            fcntl.flock(handle, fcntl.LOCK_EX)
        try:
            yield unfinished, handle
        finally:
            shutil.rmtree(unfinished, ignore_errors=True) if folder else unfinished.unlink(missing_ok=True)


@contextmanager
def written_whole(path: str | Path, on_disk: bool = True) -> Iterator[BinaryIO]:
    """Open a file for writing, which takes its name and replaces an earlier file once it is complete on the disk.

    So either the old content or all of the new content is there at any time, also after a kill or a power cut. Of
    several writers, the last to finish replaces the others' files. Missing folders are created. Without ``on_disk`` it
    does not wait for the disk, and a power cut may damage the file.

    Raises:
        OSError: if there is no room or no permission; the error names the file.
    """
    path = Path(path)
    try:
        with _unfinished(path) as (unfinished, handle), open(handle, 'wb', closefd=False) as file:
            yield file
            file.flush()
            if on_disk:
                os.fsync(handle)
            os.replace(unfinished, path)
    except OSError as error:
        error.filename = error.filename or str(path)  # a failed write does not know its file
        raise
    if on_disk:
        with _opened(path.parent) as handle:
            os.fsync(handle)  # for the new name of the file


@contextmanager
def folder_written_whole(path: str | Path) -> Iterator[Path]:
    """Create a folder to fill, which takes its name once it is filled; after an error nothing of it is left.

    What an earlier, killed call has left is removed.
    """
    path = Path(path)
    with _unfinished(path, folder=True) as (unfinished, _):
        yield unfinished
        for file in unfinished.iterdir():
            with _opened(file) as handle:
                os.fsync(handle)
        os.replace(unfinished, path)


def check_writable(folder: str | Path, option: str) -> None:
    """Create a folder and check that files can be written to it, before there are results to lose.

    Raises:
        UserError: if no file can be written; the message names the command-line option for another folder.
    """
    try:
        Path(folder).mkdir(parents=True, exist_ok=True)
        with TemporaryFile(dir=folder):
            pass
    except OSError as error:
        raise UserError(
            f'results cannot be written to {folder} ({error.strerror}); give another folder by {option}'
        ) from error


def sha256_of(path: str | Path) -> str:
    """Return the SHA-256 of a file's content, as 64 hexadecimal digits."""
    digest = hashlib.sha256()
    with open_regular(path) as file:
        while block := file.read(2**20):
            digest.update(block)
    return digest.hexdigest()


def checksum_path(path: Path) -> Path:
    """Return the path of a file's checksum: ``<name>.sha256`` beside it."""
    return path.with_name(f'{path.name}.sha256')


def write_with_checksum(path: str | Path, content: bytes) -> None:
    """Write a file as :func:`written_whole` does, then its SHA-256 beside it, in the format of ``sha256sum``."""
    path = Path(path)
    checksum_path(path).unlink(missing_ok=True)  # the old one would call the new file damaged
    with written_whole(path) as file:
        file.write(content)
    with written_whole(checksum_path(path)) as file:
        file.write(f'{hashlib.sha256(content).hexdigest()}  {path.name}\n'.encode())


def matches_checksum(path: Path) -> bool | None:
    """Whether a file matches its checksum; None if there is no (readable) checksum."""
    stored = checksum_path(path)
    found = re.match(r'[0-9a-f]{64}\b', stored.read_text(errors='replace')) if stored.is_file() else None
    return None if found is None else found.group() == sha256_of(path)


def is_whole(path: Path) -> bool:
    """Whether a checkpoint file is undamaged: by its checksum, or else by those in the zip archive, if it is one."""
    try:
        open_regular(path).close()
        matches = matches_checksum(path)
        if matches is not None:
            return matches
        return not zipfile.is_zipfile(path) or zipfile.ZipFile(path).testzip() is None
    except (zipfile.BadZipFile, OSError, ValueError):
        return False


class WholeFileBackend(LocalBackend):
    """mmengine's backend for local disks, which writes by :func:`write_with_checksum`."""

    def put(self, obj: bytes, filepath: str | Path) -> None:
        write_with_checksum(filepath, obj)

    def remove(self, filepath: str | Path) -> None:
        """Remove a file and its checksum."""
        super().remove(filepath)
        checksum_path(Path(filepath)).unlink(missing_ok=True)


register_backend(WHOLE_FILES, WholeFileBackend, force=True)
