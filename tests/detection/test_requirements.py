"""What is said when mmcv's operators are missing, fail or are wrong."""

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
    with pytest.raises(UserError, match=r'needs the compiled operators of mmcv .* run `make det`'):
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
