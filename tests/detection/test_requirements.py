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


@pytest.mark.parametrize(
    ('operator', 'substitute', 'message'),
    [
        ('nms', broken, rf'do not run on cpu with torch {torch.__version__[:4]}.*_ZN2at4_ops.*another one'),
        ('roi_align', lambda *_: torch.zeros(1, 1, 2, 2), 'wrong results on cpu'),
    ],
)
def test_operators_that_fail_or_are_wrong_when_called(monkeypatch, operator, substitute, message):
    monkeypatch.setattr(mmcv.ops, operator, substitute)
    with pytest.raises(UserError, match=message):
        check_requirements()
