"""Configs of protocols that train, by tools/train.py and tools/test.py, on folders as they are distributed."""

import json
from pathlib import Path

import cv2
import numpy as np
import pytest
from evaluation.checkpoints import of_pretraining
from evaluation.composed import backbone_of, written
from tools.command import run
from tools.in_process import run_here

NO_WORKERS = ('train_dataloader.num_workers=0', 'val_dataloader.num_workers=0', 'test_dataloader.num_workers=0')
ONE_EPOCH = (*NO_WORKERS, 'train_cfg.max_epochs=1', 'train_cfg.val_interval=1', 'default_hooks.logger.interval=1')
RESNET = dict(type='mmpretrain.ResNet', depth=18)


def lines(folder: Path) -> list[dict]:
    """What a run has logged."""
    (path,) = folder.glob('*/vis_data/scalars.json')
    return [json.loads(line) for line in path.read_text().splitlines()]


def picture(path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    pixels = np.random.default_rng(len(path.name)).integers(0, 256, (24, 20, 3))
    cv2.imwrite(str(path), pixels.astype(np.uint8))


def test_from_scratch_on_the_layout_of_tiny_imagenet(tmp_path: Path) -> None:
    for wnid in ('n01', 'n02'):
        for number in range(4):
            picture(tmp_path / f'data/train/{wnid}/images/{wnid}_{number}.JPEG')
    picture(tmp_path / 'data/val/images/val_0.JPEG')
    (tmp_path / 'data/val/val_annotations.txt').write_text('val_0.JPEG\tn02\t0\t0\t7\t7\n')
    config = written(tmp_path, 'supervised', 'tinyimagenet', backbone=RESNET)
    arguments = ('--auto-scale-lr', '--data-root', tmp_path / 'data', '--work-dir', tmp_path / 'run')
    options = (*ONE_EPOCH, 'train_dataloader.batch_size=4', 'train_dataloader.dataset.dataset.pipeline.1.scale=32')
    assert run_here('tools/train.py', config, *arguments, options=options) == 0
    *steps, validation = lines(tmp_path / 'run')
    assert len(steps) == 2 and steps[0]['lr'] == pytest.approx(0.1 * 4 / 256)
    assert validation['accuracy/top1'] in (0, 100)


@pytest.mark.long
def test_two_processes_train_together_and_test_alike(tmp_path: Path) -> None:
    pretrained = of_pretraining(tmp_path / 'pretrained.pth', num_layers=1)
    backbone = backbone_of('patchmix/vit-xs4_digits')
    config = written(tmp_path, 'linear', backbone=backbone | dict(arch=backbone['arch'] | dict(num_layers=1)))
    two = ('-m', 'torch.distributed.run', '--standalone', '--nproc_per_node', 2)
    result = run(
        *(*two, 'tools/train.py', config, '--pretrained', pretrained, '--launcher', 'pytorch'),
        *('--work-dir', tmp_path / 'run', '--cfg-options', *ONE_EPOCH, 'train_dataloader.batch_size=64'),
    )
    assert result.returncode == 0, result.stderr[-3000:]
    assert 'global batch 128: 64 images on each of 2 process(es)' in result.stdout
    # 360 images: the last of 52 batches of 7 is short, and two processes share them unevenly.
    out = tmp_path / 'metrics.json'
    test = ('tools/test.py', config, tmp_path / 'run/epoch_1.pth', '--work-dir', tmp_path / 'test', '--out', out)
    sevens = (*ONE_EPOCH, 'test_dataloader.batch_size=7')
    assert run(*two, *test, '--launcher', 'pytorch', '--cfg-options', *sevens).returncode == 0
    found = [json.loads(out.read_text())]
    for options in (sevens, ONE_EPOCH):
        assert run_here(*test, options=options) == 0
        found.append(json.loads(out.read_text()))
    assert found[0] == found[1] == found[2]
    assert lines(tmp_path / 'run')[-1]['accuracy/top1'] == pytest.approx(found[0]['accuracy/top1'], abs=1e-4)
