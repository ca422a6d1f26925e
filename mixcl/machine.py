"""What the C library and OpenMP are told before torch makes its first tensors: that a step is fast, and leaves the
other cores to others.
"""

import ctypes
import os
import sys

WAITING = dict(OMP_WAIT_POLICY='PASSIVE', GOMP_SPINCOUNT='10000')
"""How OpenMP's threads wait for each other: asleep, and GNU's (in torch's wheels) for a fraction of a millisecond awake
before, which is how long most operations of a small model wait for their slowest thread."""

OF_THE_USER = ('OMP_WAIT_POLICY', 'GOMP_SPINCOUNT', 'KMP_BLOCKTIME', 'KMP_LIBRARY')
"""Variables that say how they wait; one that is set decides."""

M_TRIM_THRESHOLD, M_MMAP_THRESHOLD, M_MMAP_MAX = -1, -3, -4  # of malloc.h
LARGE = 2**31 - 1


def prepare(environment: dict[str, str] | os._Environ = os.environ) -> None:
    """Prepare this process, and those that it starts; once torch is loaded, OpenMP asks no more.

    What the user has set for OpenMP or for the allocator stays.
    """
    if not any(name in environment for name in OF_THE_USER):
        environment.update(WAITING)
    if not any(name.startswith('MALLOC_') or 'glibc.malloc' in value for name, value in environment.items()):
        keep_large_blocks()


def plain(environment: dict[str, str] | os._Environ = os.environ) -> dict[str, str]:
    """The environment without what :func:`prepare` has added, for a process to compare with."""
    return {name: value for name, value in environment.items() if WAITING.get(name) != value}


def keep_large_blocks() -> None:
    """Let glibc keep freed blocks of any size for the next step; elsewhere, nothing.

    It would map blocks above 32 MB afresh and return them at once, so that every large activation is paid for in page
    faults, in every step anew.
    """
    if not sys.platform.startswith('linux'):
        return
    mallopt = getattr(ctypes.CDLL(None), 'mallopt', None)  # musl has none
    if mallopt is None:
        return
    if not mallopt(M_MMAP_THRESHOLD, LARGE):  # glibc before 2.35 takes at most 32 MB
        mallopt(M_MMAP_MAX, 0)
    mallopt(M_TRIM_THRESHOLD, LARGE)
