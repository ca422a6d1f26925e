"""What the doctor says of sound and of broken installations."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from packaging.requirements import Requirement
from tools.command import ENVIRONMENT, ROOT
from tools.in_process import run_here

from mixcl.collect_env import source_state
from mixcl.doctor import packages
from mixcl.doctor.machine import check_detection
from mixcl.engine.hooks.environment_hook import fingerprint
from mixcl.errors import UserError

DOCTOR = str(Path(packages.__file__).with_name('__main__.py'))


def report(monkeypatch: pytest.MonkeyPatch, *options: object) -> int:
    monkeypatch.setattr(sys, 'argv', [DOCTOR, *map(str, options)])
    return run_here(DOCTOR, *options, options=None)


def test_the_report_of_this_installation(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    assert run_here(DOCTOR, '--json', tmp_path / 'report.json', overrides=False) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[-1] == 'pretraining can work'
    assert f'  ok     torch: {torch.__version__}' in lines
    record = json.loads((tmp_path / 'report.json').read_text())
    assert record['environment']['packages']['torch'].startswith(torch.__version__.split('+')[0])
    assert record['environment']['system']['PyTorch'] == torch.__version__
    assert record['environment']['cpu_cores'] >= 1
    assert {finding['subject'] for finding in record['findings']} >= {'mmengine', 'processor', 'data/imagenet'}
