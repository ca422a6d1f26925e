"""Messages when mmcv's operators are missing or fail."""

import sys

import mmcv.ops
import pytest
import torch

from mixcl.detection.requirements import check_requirements
from mixcl.errors import UserError


def broken(*arguments):
    raise RuntimeError('undefined symbol:\n  _ZN2at4_ops')


def test_no_operators(monkeypatch):
    check_requirements()
    monkeypatch.setitem(sys.modules, 'mmcv.ops', None)
    with pytest.raises(UserError, match=r'operators are missing, .*mmcv\.ops.* run `make det`'):
        check_requirements()


def test_operators_that_fail_when_called(monkeypatch):
    monkeypatch.setattr(mmcv.ops, 'nms', broken)
    message = rf'do not run on cpu with torch {torch.__version__[:4]}.*_ZN2at4_ops.* run `make det`'
    with pytest.raises(UserError, match=message):
        check_requirements()
