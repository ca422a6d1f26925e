"""What is said when mmcv's operators are missing, broken or wrong."""

import sys
from types import ModuleType

import mmcv.ops
import pytest
import torch

from mixcl.detection.requirements import check_requirements
from mixcl.errors import UserError


def broken(*arguments):
    raise RuntimeError('undefined symbol:\n  _ZN2at4_ops')


def test_they_work_here():
    check_requirements()


def test_no_operators(monkeypatch):
    monkeypatch.setitem(sys.modules, 'mmcv.ops', None)
    with pytest.raises(UserError, match=r'needs the compiled operators of mmcv .* run `make det`'):
        check_requirements()


def test_operators_that_cannot_be_loaded(monkeypatch):
    def fail(name):
        raise ImportError(f'_ext.so: undefined symbol: _ZNK3c105Error4whatEv, of {name}')

    module = ModuleType('mmcv.ops')
    module.__getattr__ = fail
    monkeypatch.setitem(sys.modules, 'mmcv.ops', module)
    with pytest.raises(UserError, match=r'cannot be loaded with torch .*undefined symbol.*another one; run `make det`'):
        check_requirements()


def test_operators_of_another_torch(monkeypatch):
    monkeypatch.setattr(mmcv.ops, 'nms', broken)
    with pytest.raises(
        UserError, match=rf'do not run on cpu with torch {torch.__version__[:4]}.*_ZN2at4_ops.*another one'
    ):
        check_requirements()


def test_operators_that_run_and_are_wrong(monkeypatch):
    monkeypatch.setattr(mmcv.ops, 'roi_align', lambda *arguments: torch.zeros(1, 1, 2, 2))
    with pytest.raises(UserError, match='wrong results on cpu'):
        check_requirements()
