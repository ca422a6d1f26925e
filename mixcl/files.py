"""Files that appear whole or not at all; checkpoints among them with a checksum beside each."""

import errno
import hashlib
import os
import re
import shutil
import stat
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryFile
from typing import BinaryIO

from mmengine.fileio import LocalBackend, register_backend

from mixcl.errors import UserError

UNFINISHED = '.part'
"""Ending of a file that is being written; what a kill leaves behind."""

WHOLE_FILES = 'whole_files'
"""Name under which mmengine finds :class:`WholeFileBackend`, for ``backend_args=dict(backend=...)``."""


def open_regular(path: str | Path) -> BinaryIO:
    """Open a file for reading; neither waits for the other end of a pipe nor reads a device, which may never end.

    Raises:
        OSError: if it cannot be opened, or is no regular file.
    """
    handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    kind = os.fstat(handle).st_mode
    if stat.S_ISREG(kind):
        return os.fdopen(handle, 'rb')
    os.close(handle)
    raise OSError(errno.EINVAL, f'a {"folder" if stat.S_ISDIR(kind) else "pipe or a device"}, no file', str(path))


def read_regular(path: str | Path, most: int) -> bytes:
    """The content of a file of at most so many bytes; errors as of :func:`open_regular`."""
    with open_regular(path) as file:
        size = os.fstat(file.fileno()).st_size
        if size > most:
            raise OSError(errno.EFBIG, f'too large: {size:,} bytes, {most:,} are the most', str(path))
        return file.read()


@contextmanager
def written_whole(path: str | Path) -> Iterator[BinaryIO]:
    """Open a file for writing; it takes its name, and the place of an earlier one, once it is complete on the disk.

    So at every moment either the old content or all of the new one is there, also after a kill or a power cut. Missing
    folders are made.

    Raises:
        OSError: if there is no room or no permission; it names the file.
    """
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_name(path.name + UNFINISHED)
    try:
        with open(unfinished, 'wb') as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.replace(unfinished, path)
    except OSError as error:
        error.filename = error.filename or str(path)  # a write that fails does not know it
        raise
    finally:
        unfinished.unlink(missing_ok=True)
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)  # the name of the file, too
    finally:
        os.close(folder)


@contextmanager
def folder_written_whole(path: str | Path) -> Iterator[Path]:
    """Make a folder to fill; it takes its name once it is filled, and after an error nothing of it is left.

    What a kill left of an earlier one is removed.
    """
    path = Path(path)
    unfinished = path.with_name(path.name + UNFINISHED)
    if unfinished.is_dir() and not unfinished.is_symlink():
        shutil.rmtree(unfinished)
    unfinished.mkdir(parents=True)
    try:
        yield unfinished
        for file in unfinished.iterdir():
            with open(file, 'rb') as written:
                os.fsync(written.fileno())
        os.replace(unfinished, path)
    finally:
        shutil.rmtree(unfinished, ignore_errors=True)


def check_writable(folder: str | Path, option: str) -> None:
    """Make a folder and check that files can be written there, before there is something to lose.

    Raises:
        UserError: if no file can be written there; it names the command-line option for another folder.
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
    """The SHA-256 of a file's content, as 64 hexadecimal digits."""
    digest = hashlib.sha256()
    with open_regular(path) as file:
        while block := file.read(2**20):
            digest.update(block)
    return digest.hexdigest()


def checksum_path(path: Path) -> Path:
    """Where the checksum of a file is stored: ``<name>.sha256`` beside it."""
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
    """Whether a file is what its checksum says; None where there is no (readable) checksum."""
    stored = checksum_path(path)
    found = re.match(r'[0-9a-f]{64}\b', stored.read_text(errors='replace')) if stored.is_file() else None
    return None if found is None else found.group() == sha256_of(path)


def is_whole(path: Path) -> bool:
    """Whether a checkpoint file is undamaged: by its checksum, or by those inside the zip archive, if it is one."""
    try:
        open_regular(path).close()
        matches = matches_checksum(path)
        if matches is not None:
            return matches
        return not zipfile.is_zipfile(path) or zipfile.ZipFile(path).testzip() is None
    except (zipfile.BadZipFile, OSError, ValueError):
        return False


class WholeFileBackend(LocalBackend):
    """mmengine's storage on local disks, which writes by :func:`write_with_checksum`."""

    def put(self, obj: bytes, filepath: str | Path) -> None:
        write_with_checksum(filepath, obj)

    def remove(self, filepath: str | Path) -> None:
        """Remove a file and its checksum."""
        super().remove(filepath)
        checksum_path(Path(filepath)).unlink(missing_ok=True)


register_backend(WHOLE_FILES, WholeFileBackend, force=True)
