"""What a process is told before torch makes its first tensors."""

import ctypes
import resource
import sys

import pytest
import torch

from mixcl import machine

GLIBC = sys.platform.startswith('linux') and hasattr(ctypes.CDLL(None), 'gnu_get_libc_version')


@pytest.mark.parametrize('name', machine.OF_THE_USER)
def test_what_the_user_says_of_threads_stays(name: str) -> None:
    environment = {name: 'user'}
    machine.prepare(environment)
    assert environment == {name: 'user'}


def test_threads_sleep_unless_told_otherwise() -> None:
    environment = dict(HOME='/')
    machine.prepare(environment)
    assert environment == dict(HOME='/', OMP_WAIT_POLICY='PASSIVE')
    assert machine.plain(environment) == dict(HOME='/')


@pytest.mark.skipif(not GLIBC, reason='an allocator other than that of glibc')
def test_large_blocks_are_kept() -> None:
    def page_faults() -> int:
        before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
        torch.empty(16 * 2**20).fill_(1.0)  # 64 MB, 16,384 pages
        return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before

    page_faults()
    assert page_faults() < 1000
