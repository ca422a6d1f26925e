"""Settings of a process before torch makes its first tensors."""

import ctypes
import resource
import subprocess
import sys

import pytest
import torch
from tools.command import ENVIRONMENT
from torch.nn import functional

from mixcl import machine

GLIBC = sys.platform.startswith('linux') and hasattr(ctypes.CDLL(None), 'gnu_get_libc_version')


@pytest.mark.parametrize('name', machine.WAITING_BY_USER)
def test_what_the_user_says_of_threads_stays(name: str) -> None:
    environment = {name: 'user'}
    machine.prepare(environment)
    assert environment == {name: 'user'}


def test_threads_sleep_unless_told_otherwise() -> None:
    environment = dict(HOME='/')
    machine.prepare(environment)
    assert environment == dict(HOME='/', **machine.WAITING)
    assert machine.plain(environment) == dict(HOME='/')


@pytest.mark.skipif(not GLIBC, reason='an allocator other than that of glibc')
def test_large_blocks_are_kept() -> None:
    machine.keep_large_blocks()

    def page_faults() -> int:
        before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
        activations = torch.ones(10 * 2**20)
        for _ in range(3):  # 40 MB and 10,240 pages each
            activations = functional.gelu(activations)
        return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before

    assert [page_faults() for _ in range(10)][-1] < 1000


IMPORTS = """
import gc, sys
from mixcl import machine
gc.set_threshold(700)
machine.prepare()
import mixcl.apis.embedding, mixcl.apis.pretraining, mixcl.evaluation
assert not {'mmdet', 'transformers', 'sklearn', 'scipy', 'pandas', 'mixcl.visualization'} & set(sys.modules)
assert gc.get_threshold()[0] == machine.NEW_OBJECTS
try:
    import mmdet
except ImportError:
    sys.exit()
import mixcl.detection
from mmdet.registry import MODELS
assert MODELS.get('ResLayerExtraNorm').__module__ == 'mmpretrain.models.utils.res_layer_extra_norm'
"""


def test_imports_do_without_what_takes_seconds_and_detection_has_it_all_the_same() -> None:
    subprocess.run([sys.executable, '-c', IMPORTS], env=ENVIRONMENT, check=True)
