"""tools/train.py and tools/test.py from start to end: a smoke run, and a resumed run with its evaluation."""

import json
import re
from pathlib import Path

import numpy as np
import pytest
import torch
from mmengine.config import Config
from PIL import Image
from tools.in_process import run_here

DIGITS = 'configs/patchmix/vit-xs4_digits.py'
SMALL = (
    'train_dataloader.num_workers=0', 'val_dataloader.num_workers=0', 'val_cfg.bank_dataloader.num_workers=0',
    'test_dataloader.num_workers=0', 'test_cfg.bank_dataloader.num_workers=0', 'model.backbone.arch.num_layers=1',
    'train_dataloader.dataset.dataset.indices=256', 'val_cfg.bank_dataloader.dataset.indices=256',
    'batch=128',
    'default_hooks.logger.interval=1',
)  # fmt: skip


def log_of(work_dir: Path) -> str:
    """Return the log of the newest run there."""
    return max(work_dir.glob('*/*.log'), key=lambda path: path.stat().st_mtime).read_text()


def test_smoke_run_of_imagenet_without_imagenet(tmp_path: Path, capfd: pytest.CaptureFixture) -> None:
    config = 'configs/patchmix/vit-s16_in1k.py'
    assert run_here('tools/train.py', config, '--smoke', '--amp', '--work-dir', tmp_path) == 0
    shown = capfd.readouterr()
    assert len((shown.out + shown.err).splitlines()) <= 20
    assert f'everything is in {tmp_path}\nnext, the run itself: the same command without --smoke, with ' in shown.out
    assert torch.load(tmp_path / 'epoch_2.pth', weights_only=True)['meta']['iter'] == 20
    assert np.asarray(Image.open(tmp_path / 'mix_preview.png').convert('L')).std() > 5
    (written,) = tmp_path.glob('*.py')
    cfg = Config.fromfile(written)
    assert cfg.train_dataloader.batch_size == 8
    assert cfg.train_dataloader.dataset.dataset.type == 'SyntheticImages'
    assert cfg.model.backbone.arch.num_layers == 2
    assert cfg.optim_wrapper.type == 'mixcl.BFloat16OptimWrapper'
    log = log_of(tmp_path)
    assert 'global batch 8: 8 images on each of 1 process(es)' in log
    assert 'online_knn20_top1' in log and 'target_knn20_top1' in log


def test_resume_goes_on_and_the_checkpoint_can_be_evaluated(tmp_path: Path) -> None:
    work_dir = tmp_path / 'run'
    for epochs, resume in ((1, ()), (2, ('--resume',))):
        options = (*SMALL, f'schedule.epochs={epochs}')
        assert run_here('tools/train.py', DIGITS, '--work-dir', work_dir, *resume, options=options) == 0
    _, resumed, output = log_of(work_dir).rpartition('resumed epoch: 1, iter: 2')
    assert resumed
    assert re.findall(r'Epoch\(train\)\s+\[(\d+)\]\[(\d)/2\]', output) == [('2', '1'), ('2', '2')]
    metrics_of_training = output.rpartition('Epoch(val)')[2]

    checkpoint, out = work_dir / 'epoch_2.pth', tmp_path / 'metrics.json'
    options = (*SMALL, 'test_evaluator.neighbours=(20,)', 'test_cfg.bank_dataloader.dataset.indices=256')
    assert run_here('tools/test.py', DIGITS, checkpoint, '--work-dir', tmp_path, '--out', out, options=options) == 0
    metrics = json.loads(out.read_text())
    assert set(metrics) == {f'{encoder}_knn20_top{k}' for encoder in ('online', 'target') for k in (1, 5)}
    for name, value in metrics.items():
        assert 0 < value <= 100
        assert f'{name}: {value:.4f}' in metrics_of_training
