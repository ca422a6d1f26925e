"""The doctor's reports on sound and broken installations, and the state of the source that a run records."""

import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest
import torch
from tools.command import ENVIRONMENT, ROOT

from mixcl import console
from mixcl.doctor import check_detection, check_package


def test_the_report_of_this_installation(capsys: pytest.CaptureFixture) -> None:
    console.main(['doctor'])
    lines = capsys.readouterr().out.splitlines()
    assert lines[-1] == 'pretraining can work'
    assert f'ok     torch: {torch.__version__}' in lines


def test_packages_that_are_missing_or_do_not_fit(tmp_path: Path) -> None:
    """The doctor itself must not need what is missing, so it runs in a process of its own."""
    (tmp_path / 'mmcv').mkdir()
    (tmp_path / 'mmcv/__init__.py').write_text('raise ModuleNotFoundError("No module named \'mmcv\'", name="mmcv")')
    for name, more in {'mmengine-0.10.7': '', 'mixcl-0.0': 'Requires-Dist: timm>=99\n'}.items():
        (tmp_path / f'{name}.dist-info').mkdir()
        text = 'Metadata-Version: 2.1\nName: {}\nVersion: {}\n'.format(*name.split('-'))
        (tmp_path / f'{name}.dist-info/METADATA').write_text(text + more)
    environment = {**ENVIRONMENT, 'PYTHONPATH': os.pathsep.join([str(tmp_path), str(ROOT)])}
    result = subprocess.run([sys.executable, '-m', 'mixcl', 'doctor'], env=environment, capture_output=True, text=True)
    assert result.returncode == 1 and 'Traceback' not in result.stderr
    assert result.stdout.splitlines()[-1].startswith('pretraining cannot work: mmengine, mmcv, ')
    assert 'pip install -c constraints.txt onedl-mmcv' in result.stdout
    assert 'mmengine and onedl-mmengine are both installed' in result.stdout
    assert 'mixcl 0.0 has requirement timm>=99' in result.stdout


def test_operators_for_another_torch(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pretraining needs torchvision's operators, only detection mmcv's (tests/detection/test_requirements.py)."""

    def broken(*_: object, **__: object) -> None:
        raise RuntimeError('operator nms does not exist')

    monkeypatch.setattr('torchvision.ops.nms', broken)
    state, _, sentence = check_package('torchvision', 'torchvision')
    assert state == 'FAULT' and 'operator nms does not exist' in sentence
    if find_spec('mmcv._ext'):  # `make det` has run
        monkeypatch.setattr('mmcv.ops.nms', broken)
    state, _, sentence = check_detection()
    assert state == 'note' and 'make det' in sentence
