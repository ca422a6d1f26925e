"""Settings of the process that make training and its start fast; to be made before torch is imported."""

import ctypes
import gc
import os
import sys
from pathlib import Path
from typing import Any

WAITING = dict(OMP_WAIT_POLICY='PASSIVE', GOMP_SPINCOUNT='10000')
"""Variables that let OpenMP's threads sleep while they wait for each other. Those of GNU's OpenMP (in torch's wheels)
first stay awake for a fraction of a millisecond, which is how long most operations of a small model wait for their
slowest thread."""

WAITING_BY_USER = ('OMP_WAIT_POLICY', 'GOMP_SPINCOUNT', 'KMP_BLOCKTIME', 'KMP_LIBRARY')
"""Variables by which users set how threads wait; if one is set, it decides."""

M_TRIM_THRESHOLD, M_MMAP_THRESHOLD, M_MMAP_MAX = -1, -3, -4  # from malloc.h
LARGE = 2**31 - 1

UNUSED = dict(
    transformers=('mmengine.optim.optimizer.builder', 'mmdet.models'),
    mmdet=('mmpretrain.models.utils.res_layer_extra_norm',),
)
"""Packages that take seconds to import, and the modules that import them if they are installed: ``transformers`` for
Adafactor, which torch has, too, and for texts; ``mmdet`` for a part of detectors, which ``mixcl.detection`` imports.
Without both, ``import mixcl.apis.training`` takes 8.6 s of CPU time in place of 15.9 (means of 5, transformers 5)."""

NEW_OBJECTS = 10_000
"""Number of new objects after which Python collects garbage; its default of 700 takes a sixth of our import time."""


def prepare(environment: dict[str, str] | os._Environ = os.environ) -> None:
    """Prepare this process, and those that it starts, for training; commands do so by themselves.

    OpenMP's threads sleep while they wait, and glibc keeps large blocks; settings of the user for either stay.
    Imports skip packages that mixcl does not use, and Python collects garbage less often.
    """
    if not any(name in environment for name in WAITING_BY_USER):
        environment.update(WAITING)
    if not any(name.startswith('MALLOC_') or 'glibc.malloc' in value for name, value in environment.items()):
        keep_large_blocks()
    if not any(isinstance(finder, _WithoutUnused) for finder in sys.meta_path):
        sys.meta_path.insert(0, _WithoutUnused())
    if 0 < gc.get_threshold()[0] < NEW_OBJECTS:
        gc.set_threshold(NEW_OBJECTS)


def plain(environment: dict[str, str] | os._Environ = os.environ) -> dict[str, str]:
    """Return the environment without what :func:`prepare` has added, for a process to compare with."""
    return {name: value for name, value in environment.items() if WAITING.get(name) != value}


def emulates_bfloat16(description: str = '/proc/cpuinfo') -> bool:
    """Whether this CPU has no instructions for bfloat16, as far as Linux tells."""
    try:
        words = Path(description).read_text().split()
    except OSError:
        return False
    return not {'avx512_bf16', 'amx_bf16', 'bf16'} & {*words}


def cpu_cores() -> int:
    """Return the number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, 'sched_getaffinity') else os.cpu_count() or 1


def keep_large_blocks() -> None:
    """Let glibc keep freed blocks of any size for the next step, which would otherwise pay for each in page faults."""
    if not sys.platform.startswith('linux'):
        return
    mallopt = getattr(ctypes.CDLL(None), 'mallopt', None)  # musl has none
    if mallopt is None:
        return
    if not mallopt(M_MMAP_THRESHOLD, LARGE):  # glibc before 2.35 takes at most 32 MB
        mallopt(M_MMAP_MAX, 0)
    mallopt(M_TRIM_THRESHOLD, LARGE)


class _WithoutUnused:  # no importlib.abc.MetaPathFinder, whose imports take longer than all else here
    """Import hook that keeps the modules of :data:`UNUSED` from importing packages which mixcl does not use there."""

    def find_spec(self, name: str, *_: Any) -> None:
        specs = [getattr(sys.modules.get(module), '__spec__', None) for module in UNUSED.get(name, ())]
        if any(getattr(spec, '_initializing', False) for spec in specs):
            raise ImportError('not needed')
