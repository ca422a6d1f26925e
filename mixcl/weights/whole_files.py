"""Checkpoint files, whole and each with its checksum beside it."""

import hashlib
import re
import zipfile
from pathlib import Path

from mmengine.fileio import LocalBackend, register_backend

from mixcl.files import written_whole
from mixcl.weights.digest import sha256_of

WHOLE_FILES = 'whole_files'
"""Name under which mmengine finds :class:`WholeFileBackend`, for ``backend_args=dict(backend=...)``."""


def write_whole(path: str | Path, content: bytes) -> None:
    """Write a file so that at every moment either its old content or all of the new one is there.

    Then its SHA-256 is written to ``<name>.sha256``, in the format of ``sha256sum``.

    Raises:
        OSError: if there is no room or no permission; the old file is then still there.
    """
    path = Path(path)
    checksum = checksum_path(path)
    # The old checksum goes before the file changes: beside a new file it would call it damaged.
    with written_whole(path, before_replacing=lambda: checksum.unlink(missing_ok=True)) as file:
        file.write(content)
    with written_whole(checksum) as file:
        file.write(f'{hashlib.sha256(content).hexdigest()}  {path.name}\n'.encode())


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
