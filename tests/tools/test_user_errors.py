"""Mistakes of users end in one sentence and exit status 2."""

from pathlib import Path

import pytest
import torch
from tools.in_process import refusal, run_here
from weights.test_checkpoint import Payload

DIGITS = 'configs/patchmix/vit-xs4_digits.py'
FOLDER = 'configs/patchmix/vit-s16_folder.py'


def test_too_few_images(capfd: pytest.CaptureFixture, tmp_path: Path) -> None:
    line = refusal(capfd, 'tools/train.py', DIGITS, '--work-dir', tmp_path, options=['batch=2000', 'at_once=2000'])
    assert 'fewer than one batch of 2000' in line and not list(tmp_path.glob('*.pth'))


def test_a_malicious_pickle(capfd: pytest.CaptureFixture, tmp_path: Path) -> None:
    """The pickle lies in the folder of a run; tests/weights/test_checkpoint.py has the other ways in."""
    path, marker = tmp_path / 'epoch_1.pth', tmp_path / 'ran'
    torch.save(dict(state_dict=dict(weight=torch.zeros(2)), meta=dict(iter=1), extra=Payload(marker)), path)
    assert run_here('tools/train.py', DIGITS, '--resume', '--work-dir', tmp_path) == 2
    captured = capfd.readouterr()
    assert 'none of the 1 checkpoint(s)' in captured.err
    assert 'holds more than tensors and plain values (posix.mkdir)' in captured.out and not marker.exists()


def test_evaluating_what_cannot_be_evaluated(capfd: pytest.CaptureFixture, tmp_path: Path) -> None:
    (tmp_path / 'file').touch()
    for config, out, message in (
        (FOLDER, (), 'no test_cfg'),
        (DIGITS, ('--out', 'a.pkl'), "takes a .json file, not 'a.pkl'"),
        (DIGITS, ('--out', tmp_path / 'file/a.json'), f'results cannot be written to {tmp_path}/file'),
    ):
        assert message in refusal(capfd, 'tools/test.py', config, 'some.pth', '--work-dir', tmp_path, *out)
