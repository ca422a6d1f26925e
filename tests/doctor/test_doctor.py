"""What the doctor says of sound and of broken installations; mmcv is faked by a package before it on the path."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from packaging.requirements import Requirement
from tools.command import ENVIRONMENT, ROOT, run

from mixcl.doctor import packages
from mixcl.doctor.operators import check_torchvision
from mixcl.environment import environment, fingerprint, source_state

NO_MMCV = "raise ModuleNotFoundError(\"No module named 'mmcv'\", name='mmcv')"
NO_OPERATORS = "raise ModuleNotFoundError(\"No module named 'mmcv._ext'\", name='mmcv._ext')"
UNDEFINED_SYMBOL = "raise ImportError('_ext.so: undefined symbol: _ZNK3c105Error4whatEv')"
FAILS_WHEN_CALLED = """
def nms(*args, **kwargs):
    raise RuntimeError('nms_impl: implementation for device cpu not found.')
"""
WRONG_RESULT = """
import torch
def nms(boxes, scores, iou_threshold):
    return boxes, torch.tensor([0, 1, 2])
"""
WORKING = """
import torch, torchvision
def nms(boxes, scores, iou_threshold):
    kept = torchvision.ops.nms(boxes, scores, iou_threshold)
    return boxes[kept], kept
def roi_align(images, rois, size):
    return torchvision.ops.roi_align(images, rois, size)
"""

SENTENCES = {
    'no mmcv': 'is not installed',
    'no operators': 'was built without compiled operators',
    'another torch': 'was compiled for another version than the installed torch',
    'well': 'nms and roi_align give the right results',
}


def verdict(folder: Path, package: str, operators: str | None) -> tuple[str, str]:
    """State and sentence that check_mmcv gives in a process whose mmcv is a fake one."""
    (folder / 'mmcv').mkdir()
    (folder / 'mmcv/__init__.py').write_text(package)
    if operators is not None:
        (folder / 'mmcv/ops.py').write_text(operators)
    script = 'import json; from mixcl.doctor.operators import check_mmcv; print(json.dumps(check_mmcv()))'
    environment = {**ENVIRONMENT, 'PYTHONPATH': os.pathsep.join([str(folder), str(ROOT)])}
    output = subprocess.run(
        [sys.executable, '-c', script], env=environment, capture_output=True, text=True, timeout=120
    )
    assert output.returncode == 0, output.stderr
    state, _, sentence = json.loads(output.stdout)
    return state, sentence


@pytest.mark.parametrize(
    ('package', 'operators', 'state', 'expected'),
    [
        (NO_MMCV, None, 'FAULT', 'no mmcv'),
        ('', NO_OPERATORS, 'note', 'no operators'),
        ('', None, 'note', 'no operators'),
        ('', UNDEFINED_SYMBOL, 'note', 'another torch'),
        ('', FAILS_WHEN_CALLED, 'note', 'another torch'),
        ('', WRONG_RESULT, 'note', 'another torch'),
        ('', WORKING, 'ok', 'well'),
    ],
)
def test_three_ways_in_which_mmcv_is_broken(
    tmp_path: Path, package: str, operators: str | None, state: str, expected: str
) -> None:
    found, sentence = verdict(tmp_path, package, operators)
    assert found == state
    assert [name for name, part in SENTENCES.items() if part in sentence] == [expected]
    if state != 'ok':
        assert 'pip install' in sentence


def test_the_report_of_this_installation(tmp_path: Path) -> None:
    result = run('-m', 'mixcl.doctor', '--json', tmp_path / 'report.json')
    assert result.returncode == 0, result.stdout + result.stderr
    assert result.stdout.splitlines()[-1] == 'pretraining can work'
    assert f'torch: {torch.__version__}' in result.stdout
    assert 'data/imagenet' in result.stdout and '--data-root' in result.stdout
    record = json.loads((tmp_path / 'report.json').read_text())
    assert record['environment']['packages']['torch'].startswith(torch.__version__.split('+')[0])
    assert {finding['subject'] for finding in record['findings']} >= {'mmengine', 'processor', 'data/imagenet'}


def test_without_mmcv_the_report_ends_with_a_fault(tmp_path: Path) -> None:
    (tmp_path / 'mmcv').mkdir()
    (tmp_path / 'mmcv/__init__.py').write_text(NO_MMCV)
    environment = {**ENVIRONMENT, 'PYTHONPATH': os.pathsep.join([str(tmp_path), str(ROOT)])}
    result = subprocess.run([sys.executable, '-m', 'mixcl.doctor'], env=environment, capture_output=True, text=True)
    assert result.returncode == 1, result.stderr
    assert result.stdout.splitlines()[-1].startswith('pretraining cannot work: mmcv')
    assert 'onedl-mmcv' in result.stdout and 'Traceback' not in result.stderr


def test_versions_and_rivals(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(packages, 'requirements', lambda: {'timm': Requirement('timm>=99')})
    versions = {'mmengine': '0.10.7', 'onedl-mmengine': '0.10.12'}
    monkeypatch.setattr(packages, 'version_of', versions.get)
    faults = {subject: sentence for state, subject, sentence in packages.check_packages() if state == 'FAULT'}
    assert set(faults) == {'timm', 'mmengine'}
    assert 'mixcl needs >=99' in faults['timm']
    assert 'both mmengine 0.10.7 and onedl-mmengine 0.10.12' in faults['mmengine']


def test_torchvision_for_another_torch(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> None:
        raise RuntimeError('operator torchvision::nms does not exist')

    assert check_torchvision().state == 'ok'
    monkeypatch.setattr('torchvision.ops.nms', broken)
    state, _, sentence = check_torchvision()
    assert state == 'FAULT' and 'nms does not exist' in sentence


def test_the_environment_can_be_stored() -> None:
    record = json.loads(json.dumps(environment()))
    assert record['python'] == '.'.join(map(str, sys.version_info[:3]))
    assert record['hardware']['cpu_cores'] >= 1


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
