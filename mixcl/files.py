"""Files that appear whole or not at all."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO


@contextmanager
def written_whole(path: str | Path) -> Iterator[BinaryIO]:
    """Open a file for writing; it takes its name, and the place of an earlier one, once it is complete on the disk.

    After an error the earlier file is as it was. Folders are made where they are missing.
    """
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f'{path.name}.part')
    try:
        with open(part, 'wb') as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.replace(part, path)
    finally:
        part.unlink(missing_ok=True)
