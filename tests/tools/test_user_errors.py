"""What users get wrong ends in one sentence and exit status 2."""

import json
import os
import re
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image
from tools.command import error_lines
from tools.in_process import run_here

from mixcl.engine.runners.launch import read_config
from mixcl.registry import MODELS

DIGITS = 'configs/patchmix/vit-xs4_digits.py'
FOLDER = 'configs/patchmix/vit-s16_folder.py'
TINY = (
    'model.backbone.arch.num_layers=1', 'train_dataloader.batch_size=4',
    'train_cfg.max_epochs=1', 'default_hooks.logger.interval=1',
)  # fmt: skip


@pytest.mark.parametrize(
    ('arguments', 'options', 'message'),
    [
        ([DIGITS], ['model.mixer.num_mixes=2'], "did you mean 'num_mix'"),
        ([DIGITS], ['batch_size=4'], "the config has no 'batch_size'"),
        ([DIGITS], ["model.swap_views='half'"], 'model cannot be built: TypeError'),
        ([DIGITS], ['model.mixer.num_mix=17'], 'do not fit into the 4x4 patches'),
        ([DIGITS], ['train_dataloader.batch_size=2000'], 'fewer than one batch of 2000'),
        ([FOLDER, '--data-root', '/nowhere'], [], "'/nowhere'.*does not exist"),
        ([DIGITS, '--resume', '/nowhere/epoch_1.pth'], [], 'no checkpoint file /nowhere/epoch_1.pth'),
        (['configs/patchmix/vit.py'], [], 'no config file configs/patchmix/vit.py'),
    ],
)
def test_one_sentence(
    capfd: pytest.CaptureFixture,
    tmp_path: Path,
    arguments: list,
    options: list,
    message: str,
) -> None:
    assert run_here('tools/train.py', *arguments, '--work-dir', tmp_path, options=options) == 2
    captured = capfd.readouterr()
    (line,) = error_lines(captured.err)
    assert re.search(message, line)
    assert 'Traceback' not in captured.err + captured.out
    assert not list(tmp_path.glob('*.pth'))


@pytest.mark.parametrize('tool', ['train', 'test'])
def test_a_checkpoint_of_another_architecture(capfd: pytest.CaptureFixture, tmp_path: Path, tool: str) -> None:
    checkpoint = tmp_path / 'epoch_1.pth'
    torch.save(MODELS.build(read_config(DIGITS).model).state_dict(), checkpoint)
    place, option = ((), f'load_from={checkpoint}') if tool == 'train' else ((checkpoint,), 'log_level=INFO')
    arguments = (f'tools/{tool}.py', DIGITS, *place, '--work-dir', tmp_path / 'run')
    assert run_here(*arguments, options=['model.neck.hidden_channels=256', option]) == 2
    (line,) = error_lines(capfd.readouterr().err)
    assert 'another architecture' in line and 'neck.fc0.weight is (512, 96) in the file and (256, 96)' in line


class Payload:
    """A pickle that makes a folder when it is read."""

    def __init__(self, marker: Path) -> None:
        self.marker = marker

    def __reduce__(self) -> tuple:
        return os.mkdir, (str(self.marker),)


@pytest.mark.parametrize('way', ['resume', 'newest', 'load_from', 'init_cfg', 'test'])
def test_a_malicious_pickle(capfd: pytest.CaptureFixture, tmp_path: Path, way: str) -> None:
    path, marker = tmp_path / 'epoch_1.pth', tmp_path / 'ran'
    torch.save(dict(state_dict=dict(weight=torch.zeros(2)), meta=dict(iter=1), extra=Payload(marker)), path)
    init = ('model.backbone.init_cfg.type=Pretrained', f'model.backbone.init_cfg.checkpoint={path}')
    arguments, options = dict(
        resume=(('tools/train.py', DIGITS, '--resume', path), ()),
        newest=(('tools/train.py', DIGITS, '--resume'), ()),
        load_from=(('tools/train.py', DIGITS), (f'load_from={path}',)),
        init_cfg=(('tools/train.py', DIGITS), init),
        test=(('tools/test.py', DIGITS, path), ()),
    )[way]
    folder = tmp_path if way == 'newest' else tmp_path / 'run'
    assert run_here(*arguments, '--work-dir', folder, options=options) == 2
    captured = capfd.readouterr()
    (line,) = error_lines(captured.err)
    assert 'holds more than tensors and plain values (posix.mkdir)' in (captured.out if way == 'newest' else line)
    assert ('none of the 1 checkpoint(s)' in line) == (way == 'newest')
    assert not marker.exists()


def test_evaluating_what_cannot_be_evaluated(capfd: pytest.CaptureFixture, tmp_path: Path) -> None:
    assert run_here('tools/test.py', FOLDER, 'some.pth', '--work-dir', tmp_path) == 2
    assert 'no test_cfg' in error_lines(capfd.readouterr().err)[0]
    assert run_here('tools/test.py', DIGITS, 'some.pth', '--work-dir', tmp_path, '--out', 'a.pkl') == 2
    assert "takes a .json file, not 'a.pkl'" in error_lines(capfd.readouterr().err)[0]
    (tmp_path / 'file').touch()
    assert run_here('tools/test.py', DIGITS, 'some.pth', '--work-dir', tmp_path, '--out', tmp_path / 'file/a.json') == 2
    assert f'results cannot be written to {tmp_path}/file' in error_lines(capfd.readouterr().err)[0]


def write_images(folder: Path, good: int, bad: int) -> None:
    folder.mkdir()
    random = np.random.default_rng(0)
    for number in range(good):
        Image.fromarray(random.integers(0, 256, (40, 40, 3), dtype=np.uint8)).save(folder / f'good{number}.png')
    for number in range(bad):
        (folder / f'bad{number}.jpg').write_bytes(b'not an image')


def train_on(folder: Path, work_dir: Path, workers: int) -> int:
    options = (f'train_dataloader.num_workers={workers}', f'train_dataloader.persistent_workers={workers > 0}', *TINY)
    return run_here('tools/train.py', FOLDER, '--work-dir', work_dir, '--data-root', folder, options=options)


def test_unreadable_images_are_named_and_training_goes_on(tmp_path: Path) -> None:
    write_images(tmp_path / 'images', good=6, bad=2)
    assert train_on(tmp_path / 'images', tmp_path / 'run', workers=2) == 0
    log = next((tmp_path / 'run').glob('*/*.log')).read_text()
    for number in range(2):
        assert log.count(f'images/bad{number}.jpg (not an image)') == 1
    assert 'met 2 unreadable image(s)' in log
    assert (tmp_path / 'run/epoch_1.pth').exists()
    record = json.loads((tmp_path / 'run/environment.json').read_text())
    assert record['train_data']['samples'] == 8 and 'torch' in record['packages']


def test_a_folder_of_unreadable_images(capfd: pytest.CaptureFixture, tmp_path: Path) -> None:
    write_images(tmp_path / 'images', good=0, bad=5)
    assert train_on(tmp_path / 'images', tmp_path / 'run', workers=0) == 2
    errors = capfd.readouterr().err
    (line,) = error_lines(errors)
    assert 'none of 5 images tried in' in line and '(not an image)' in line
    assert 'Traceback' not in errors
