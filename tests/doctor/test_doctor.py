"""What the doctor says of sound and of broken installations."""

import json
import os
import runpy
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from packaging.requirements import Requirement
from tools.command import ENVIRONMENT, ROOT

from mixcl.collect_env import source_state
from mixcl.doctor import packages
from mixcl.doctor.machine import check_detection
from mixcl.engine.hooks.environment_hook import fingerprint


def test_the_report_of_this_installation(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture
) -> None:
    monkeypatch.setattr(sys, 'argv', ['doctor', '--json', str(tmp_path / 'report.json')])
    with pytest.raises(SystemExit) as exit_:
        runpy.run_module('mixcl.doctor', run_name='__main__')
    lines = capsys.readouterr().out.splitlines()
    assert exit_.value.code == 0 and lines[-1] == 'pretraining can work'
    assert f'  ok     torch: {torch.__version__}' in lines
    record = json.loads((tmp_path / 'report.json').read_text())
    assert record['environment']['packages']['torch'].startswith(torch.__version__.split('+')[0])
    assert record['environment']['system']['PyTorch'] == torch.__version__
    assert record['environment']['cpu_cores'] >= 1
    assert {finding['subject'] for finding in record['findings']} >= {'mmengine', 'processor', 'data/imagenet'}


def test_without_mmcv_the_report_ends_with_a_fault(tmp_path: Path) -> None:
    """In a process of its own: the doctor itself must not need what is missing."""
    (tmp_path / 'mmcv').mkdir()
    (tmp_path / 'mmcv/__init__.py').write_text('raise ModuleNotFoundError("No module named \'mmcv\'", name="mmcv")')
    environment = {**ENVIRONMENT, 'PYTHONPATH': os.pathsep.join([str(tmp_path), str(ROOT)])}
    command = [sys.executable, '-m', 'mixcl.doctor', '--json', str(tmp_path / 'report.json')]
    result = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert result.returncode == 1, result.stderr
    assert result.stdout.splitlines()[-1].startswith('pretraining cannot work: mmcv')
    assert 'onedl-mmcv' in result.stdout and 'Traceback' not in result.stderr
    assert json.loads((tmp_path / 'report.json').read_text())['environment'] is None


def test_versions_and_rivals(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(packages, 'requirements', lambda: {'timm': Requirement('timm>=99')})
    versions = {'mmengine': '0.10.7', 'onedl-mmengine': '0.10.12'}
    monkeypatch.setattr(packages, 'version_of', versions.get)
    faults = {subject: sentence for state, subject, sentence in packages.check_packages() if state == 'FAULT'}
    assert set(faults) == {'timm', 'mmengine'}
    assert 'mixcl needs >=99' in faults['timm']
    assert 'both mmengine 0.10.7 and onedl-mmengine 0.10.12' in faults['mmengine']


def test_operators_for_another_torch(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pretraining needs those of torchvision, detection alone those of mmcv (tests/detection/test_requirements.py)."""

    def broken(*_: object, **__: object) -> None:
        raise RuntimeError('operator nms does not exist')

    monkeypatch.setattr('torchvision.ops.nms', broken)
    (fault,) = [finding for finding in packages.check_packages() if finding.state == 'FAULT']
    assert fault.subject == 'torchvision' and 'operator nms does not exist' in fault.sentence
    monkeypatch.setattr('mmcv.ops.nms', broken, raising=False)
    state, subject, sentence = check_detection()
    assert (state, subject) == ('note', 'detection') and 'make det' in sentence


def test_the_state_of_the_source(tmp_path: Path) -> None:
    assert source_state(tmp_path) == {}
    git = ['git', '-C', str(tmp_path), '-c', 'user.name=a', '-c', 'user.email=a@b']
    for arguments in (['init', '-q'], ['commit', '-q', '--allow-empty', '-m', 'first']):
        subprocess.run([*git, *arguments], check=True)
    (tmp_path / 'new.txt').touch()
    state = source_state(tmp_path)
    assert len(state['commit']) == 40
    assert state['changed'] == ['?? new.txt']


def test_the_fingerprint_follows_the_files(tmp_path: Path) -> None:
    from mixcl.datasets import ImageFolder, SyntheticImages

    for number in range(3):
        (tmp_path / f'{number}.png').write_bytes(b'x' * (number + 1))
    first = fingerprint(ImageFolder(str(tmp_path)))
    assert (first['samples'], first['bytes'], first['files_measured']) == (3, 6, 3)
    (tmp_path / '2.png').rename(tmp_path / '3.png')
    renamed = fingerprint(ImageFolder(str(tmp_path)))
    assert renamed['bytes'] == 6
    assert renamed['first_and_last_path'] != first['first_and_last_path']
    in_memory = SyntheticImages(num_images=4, image_size=8, pipeline=[])
    assert fingerprint(in_memory) == dict(type='SyntheticImages', samples=4)
