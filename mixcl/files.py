"""Files that appear whole or not at all."""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryFile
from typing import BinaryIO

from mixcl.errors import UserError

UNFINISHED = '.part'
"""Ending of a file that is being written; what a kill leaves behind."""


@contextmanager
def written_whole(path: str | Path, before_replacing: Callable[[], object] = lambda: None) -> Iterator[BinaryIO]:
    """Open a file for writing; it takes its name, and the place of an earlier one, once it is complete on the disk.

    So at every moment either the old content or all of the new one is there, also after a kill or a power cut. After
    an error the earlier file is as it was. Folders are made where they are missing.

    Args:
        path: of the file.
        before_replacing: called when the new content is on the disk, and the earlier file still in its place.

    Raises:
        OSError: if there is no room or no permission.
    """
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_name(path.name + UNFINISHED)
    try:
        with open(unfinished, 'wb') as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        before_replacing()
        os.replace(unfinished, path)
    finally:
        unfinished.unlink(missing_ok=True)
    _sync_folder(path.parent)


def check_writable(folder: str | Path, option: str) -> None:
    """Make a folder and see that files can be written there, before there is something to lose.

    Args:
        folder: where to.
        option: what names another one, for the message.

    Raises:
        UserError: if they cannot.
    """
    try:
        Path(folder).mkdir(parents=True, exist_ok=True)
        with TemporaryFile(dir=folder):
            pass
    except OSError as error:
        raise UserError(
            f'results cannot be written to {folder} ({error.strerror}); give another folder by {option}'
        ) from error


def _sync_folder(folder: Path) -> None:
    """Bring the names in a folder to the disk, too."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
