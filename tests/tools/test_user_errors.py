"""What users get wrong ends in one sentence and exit status 2."""

import json
import os
import re
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image
from tools.in_process import refusal, run_here

DIGITS = 'configs/patchmix/vit-xs4_digits.py'
FOLDER = 'configs/patchmix/vit-s16_folder.py'
TINY = (
    'model.backbone.arch.num_layers=1', 'train_dataloader.batch_size=4',
    'train_cfg.max_epochs=1', 'default_hooks.logger.interval=1',
)  # fmt: skip


def test_one_sentence(capfd: pytest.CaptureFixture, tmp_path: Path) -> None:
    """Of every kind one; tests/engine/runners/test_launch.py and those of the parts have the others."""
    for arguments, options, message in (
        ([DIGITS], ['model.mixer.num_mixes=2'], "did you mean 'num_mix'"),
        ([DIGITS], ["model.swap_views='half'"], 'model cannot be built: TypeError'),
        ([DIGITS], ['train_dataloader.batch_size=2000'], 'fewer than one batch of 2000'),
        ([FOLDER, '--data-root', '/nowhere'], [], "'/nowhere'.*does not exist"),
        ([DIGITS, '--resume', '/nowhere/epoch_1.pth'], [], 'no checkpoint file /nowhere/epoch_1.pth'),
    ):
        line = refusal(capfd, 'tools/train.py', *arguments, '--work-dir', tmp_path, options=options)
        assert re.search(message, line), line
        assert not list(tmp_path.glob('*.pth'))


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
    command = (*arguments, '--work-dir', tmp_path)
    if way == 'newest':  # which is told of each file, and of all that none is left
        assert run_here(*command, options=options) == 2
        captured = capfd.readouterr()
        line = captured.out
        assert 'none of the 1 checkpoint(s)' in captured.err
    else:
        line = refusal(capfd, *command, options=options)
    assert 'holds more than tensors and plain values (posix.mkdir)' in line
    assert not marker.exists()


def test_evaluating_what_cannot_be_evaluated(capfd: pytest.CaptureFixture, tmp_path: Path) -> None:
    (tmp_path / 'file').touch()
    for config, out, message in (
        (FOLDER, (), 'no test_cfg'),
        (DIGITS, ('--out', 'a.pkl'), "takes a .json file, not 'a.pkl'"),
        (DIGITS, ('--out', tmp_path / 'file/a.json'), f'results cannot be written to {tmp_path}/file'),
    ):
        assert message in refusal(capfd, 'tools/test.py', config, 'some.pth', '--work-dir', tmp_path, *out)


def write_images(folder: Path, good: int, bad: int) -> None:
    folder.mkdir()
    random = np.random.default_rng(0)
    for number in range(good):
        Image.fromarray(random.integers(0, 256, (40, 40, 3), dtype=np.uint8)).save(folder / f'good{number}.png')
    for number in range(bad):
        (folder / f'bad{number}.jpg').write_bytes(b'not an image')


def train_on(folder: Path, work_dir: Path) -> tuple:
    return 'tools/train.py', FOLDER, '--work-dir', work_dir, '--data-root', folder


def test_unreadable_images_are_named_and_training_goes_on(tmp_path: Path) -> None:
    write_images(tmp_path / 'images', good=6, bad=2)
    options = ('train_dataloader.num_workers=2', 'train_dataloader.persistent_workers=True', *TINY)
    assert run_here(*train_on(tmp_path / 'images', tmp_path / 'run'), options=options) == 0
    log = next((tmp_path / 'run').glob('*/*.log')).read_text()
    for number in range(2):
        assert log.count(f'images/bad{number}.jpg (not an image)') == 1
    assert 'met 2 unreadable image(s)' in log
    assert (tmp_path / 'run/epoch_1.pth').exists()
    record = json.loads((tmp_path / 'run/environment.json').read_text())
    assert record['train_data']['samples'] == 8 and 'torch' in record['packages']


def test_a_folder_of_unreadable_images(capfd: pytest.CaptureFixture, tmp_path: Path) -> None:
    write_images(tmp_path / 'images', good=0, bad=5)
    options = ('train_dataloader.num_workers=0', *TINY)
    line = refusal(capfd, *train_on(tmp_path / 'images', tmp_path / 'run'), options=options)
    assert 'none of 5 images tried in' in line and '(not an image)' in line
