"""What makes training, and its start, fast: to be called before torch is imported."""

import ctypes
import gc
import os
import sys
from typing import Any

WAITING = dict(OMP_WAIT_POLICY='PASSIVE', GOMP_SPINCOUNT='10000')
"""How OpenMP's threads wait for each other: asleep, and GNU's (in torch's wheels) for a fraction of a millisecond awake
before, which is how long most operations of a small model wait for their slowest thread."""

OF_THE_USER = ('OMP_WAIT_POLICY', 'GOMP_SPINCOUNT', 'KMP_BLOCKTIME', 'KMP_LIBRARY')
"""Variables that say how they wait; one that is set decides."""

M_TRIM_THRESHOLD, M_MMAP_THRESHOLD, M_MMAP_MAX = -1, -3, -4  # of malloc.h
LARGE = 2**31 - 1

UNUSED = dict(
    transformers=('mmengine.optim.optimizer.builder', 'mmdet.models'),
    mmdet=('mmpretrain.models.utils.res_layer_extra_norm',),
)
"""Packages that take seconds to import, and who imports them where they are installed: ``transformers`` for Adafactor,
which torch has, too, and for texts; ``mmdet`` for a part of detectors, which ``mixcl.detection`` imports."""

NEW_OBJECTS = 10_000
"""After so many Python looks for cycles of objects; its own 700 are a sixth of the time of our imports."""


def prepare(environment: dict[str, str] | os._Environ = os.environ) -> None:
    """Prepare this process, and those that it starts, for training; commands do it by themselves.

    OpenMP's threads sleep while they wait, and glibc keeps large blocks; what the user has set for either stays.
    Imports do without packages that mixcl does not use, and Python collects garbage less often.
    """
    if not any(name in environment for name in OF_THE_USER):
        environment.update(WAITING)
    if not any(name.startswith('MALLOC_') or 'glibc.malloc' in value for name, value in environment.items()):
        keep_large_blocks()
    if not any(isinstance(finder, _WithoutUnused) for finder in sys.meta_path):
        sys.meta_path.insert(0, _WithoutUnused())
    if 0 < gc.get_threshold()[0] < NEW_OBJECTS:
        gc.set_threshold(NEW_OBJECTS)


def plain(environment: dict[str, str] | os._Environ = os.environ) -> dict[str, str]:
    """The environment without what :func:`prepare` has added, for a process to compare with."""
    return {name: value for name, value in environment.items() if WAITING.get(name) != value}


def keep_large_blocks() -> None:
    """Let glibc keep freed blocks of any size for the next step, where it would pay for each in page faults anew."""
    if not sys.platform.startswith('linux'):
        return
    mallopt = getattr(ctypes.CDLL(None), 'mallopt', None)  # musl has none
    if mallopt is None:
        return
    if not mallopt(M_MMAP_THRESHOLD, LARGE):  # glibc before 2.35 takes at most 32 MB
        mallopt(M_MMAP_MAX, 0)
    mallopt(M_TRIM_THRESHOLD, LARGE)


class _WithoutUnused:  # no importlib.abc.MetaPathFinder: its imports take longer than all else here
    """Keeps the modules of :data:`UNUSED` from importing a package for a part that mixcl does not use."""

    def find_spec(self, name: str, *_: Any) -> None:
        specs = [getattr(sys.modules.get(module), '__spec__', None) for module in UNUSED.get(name, ())]
        if any(getattr(spec, '_initializing', False) for spec in specs):
            raise ImportError('not needed')
