"""Results that are computed once for all processes of a test session."""

import fcntl
import os
from collections.abc import Callable
from pathlib import Path

from tools.forked_python import FOLDER


def once(name: str, fill: Callable[[Path], object]) -> Path:
    """Return the folder ``name`` of the test session, filled by the process that first asks for it.

    ``fill`` gets the empty folder. If it fails, each later call tries again.
    """
    folder = Path(os.environ[FOLDER]) / name
    with open(folder.with_suffix('.lock'), 'w') as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # the others wait here
        if not (folder / 'done').exists():
            folder.mkdir(exist_ok=True)
            fill(folder)
            (folder / 'done').touch()
    return folder
