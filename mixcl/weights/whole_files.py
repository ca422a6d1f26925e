"""Files that appear whole or not at all, each with its checksum beside it."""

import hashlib
import os
import re
import zipfile
from pathlib import Path

from mmengine.fileio import LocalBackend, register_backend

from mixcl.weights.digest import sha256_of

WHOLE_FILES = 'whole_files'
"""Name under which mmengine finds :class:`WholeFileBackend`, for ``backend_args=dict(backend=...)``."""

UNFINISHED = '.unfinished'
"""Ending of a file that is being written; what a kill leaves behind."""


def write_whole(path: str | Path, content: bytes) -> None:
    """Write a file so that at every moment either its old content or all of the new one is there.

    The content goes to a temporary file beside it, to the disk, and only then takes the place of the old file. Then
    its SHA-256 is written to ``<name>.sha256``, in the format of ``sha256sum``.

    Raises:
        OSError: if there is no room or no permission; the old file is then still there.
    """
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_name(path.name + UNFINISHED)
    try:
        _write_to_disk(unfinished, content)
    except OSError:
        unfinished.unlink(missing_ok=True)
        raise
    # Gone before the file changes: beside a new file, the old checksum would call it damaged.
    checksum_path(path).unlink(missing_ok=True)
    os.replace(unfinished, path)
    _replace(checksum_path(path), f'{hashlib.sha256(content).hexdigest()}  {path.name}\n'.encode())


def checksum_path(path: Path) -> Path:
    """Where the checksum of a file lies."""
    return path.with_name(f'{path.name}.sha256')


def matches_checksum(path: Path) -> bool | None:
    """Whether a file is what its checksum says; None where there is no (readable) checksum."""
    stored = checksum_path(path)
    found = re.match(r'[0-9a-f]{64}\b', stored.read_text(errors='replace')) if stored.is_file() else None
    return None if found is None else found.group() == sha256_of(path)


def is_whole(path: Path) -> bool:
    """Whether a checkpoint file is undamaged: by its checksum, or without one by those inside the archive.

    torch does not compare the latter when it reads. A file that is no archive, as torch wrote before 1.6, passes.
    """
    matches = matches_checksum(path)
    if matches is not None:
        return matches
    try:
        return not zipfile.is_zipfile(path) or zipfile.ZipFile(path).testzip() is None
    except (zipfile.BadZipFile, OSError, ValueError):
        return False


class WholeFileBackend(LocalBackend):
    """mmengine's storage on local disks, with :func:`write_whole` for writing."""

    def put(self, obj: bytes, filepath: str | Path) -> None:
        write_whole(filepath, obj)

    def remove(self, filepath: str | Path) -> None:
        """Remove a file and its checksum."""
        super().remove(filepath)
        checksum_path(Path(filepath)).unlink(missing_ok=True)


register_backend(WHOLE_FILES, WholeFileBackend, force=True)


def _replace(path: Path, content: bytes) -> None:
    unfinished = path.with_name(path.name + UNFINISHED)
    _write_to_disk(unfinished, content)
    os.replace(unfinished, path)
    _sync_folder(path.parent)


def _write_to_disk(path: Path, content: bytes) -> None:
    with open(path, 'wb') as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


def _sync_folder(folder: Path) -> None:
    """Bring the names in a folder to the disk, too."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
