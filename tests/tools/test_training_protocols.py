"""The protocols that train, through the command line, on a checkpoint and on folders as they are distributed."""

import re
import subprocess
from pathlib import Path

import cv2
import numpy as np
import pytest
import torch
from tools.command import error_lines, run

NO_WORKERS = ('train_dataloader.num_workers=0', 'val_dataloader.num_workers=0', 'test_dataloader.num_workers=0')
ONE_EPOCH = (*NO_WORKERS, 'train_cfg.max_epochs=1', 'train_cfg.val_interval=1', 'default_hooks.logger.interval=1')
ONE_BLOCK = 'arch.num_layers=1'
SMALL_RESNET = ('model.backbone.depth=18', 'model.head.in_channels=512')


def succeeded(result: subprocess.CompletedProcess) -> str:
    assert result.returncode == 0, result.stdout[-3000:] + result.stderr[-3000:]
    return result.stdout


@pytest.fixture(scope='module')
def pretrained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A PatchMix checkpoint after a few steps on digits, one block deep."""
    folder = tmp_path_factory.mktemp('pretrained')
    options = (*ONE_EPOCH, 'train_dataloader.dataset.dataset.indices=256', f'model.backbone.{ONE_BLOCK}')
    command = ('tools/train.py', 'configs/patchmix/vit-xs4_digits.py', '--no-validate', '--work-dir', folder)
    succeeded(run(*command, '--cfg-options', *options))
    return folder / 'epoch_1.pth'


def weights(path: Path) -> dict[str, torch.Tensor]:
    return torch.load(path, weights_only=True)['state_dict']


def test_a_linear_probe_of_the_target_encoder(pretrained: Path, tmp_path: Path) -> None:
    output = succeeded(
        run(
            *('tools/train.py', 'configs/evaluation/linear/any_digits.py', '--pretrained', pretrained, '--amp'),
            *('--work-dir', tmp_path, '--cfg-options', *ONE_EPOCH, f'model.backbone.backbone.{ONE_BLOCK}'),
        )
    )
    assert 'global batch 128' in output and 'learning rate 0.1' in output
    assert re.search(r'Epoch\(val\) \[1\]\[2/2\].*accuracy/top1: \d', output)
    source, probe = weights(pretrained), weights(tmp_path / 'epoch_1.pth')
    for name, value in probe.items():
        if name.startswith('backbone.backbone.'):
            assert torch.equal(value, source[f'target.{name.removeprefix("backbone.")}'])
    assert probe['head.fc.weight'].shape == (10, 96)


def test_fine_tuning_and_its_test(pretrained: Path, tmp_path: Path) -> None:
    config, options = 'configs/evaluation/finetune/any_digits.py', (*ONE_EPOCH, f'model.backbone.{ONE_BLOCK}')
    output = succeeded(
        run(
            *('tools/train.py', config, '--pretrained', pretrained, '--encoder', 'online', '--work-dir', tmp_path),
            *('--cfg-options', *options),
        )
    )
    accuracy = re.search(r'Epoch\(val\) \[1\].*accuracy/top1: ([\d.]+)', output)[1]
    source, tuned = weights(pretrained), weights(tmp_path / 'epoch_1.pth')
    assert not torch.equal(tuned['backbone.layers.0.attn.qkv.weight'], source['backbone.layers.0.attn.qkv.weight'])
    # One epoch at a rate of 1e-6, the start of the warm-up: the weights have hardly moved.
    assert torch.allclose(tuned['backbone.pos_embed'], source['backbone.pos_embed'], atol=1e-4)
    tested = succeeded(
        run(
            'tools/test.py',
            config,
            tmp_path / 'epoch_1.pth',
            '--work-dir',
            tmp_path / 'test',
            '--cfg-options',
            *options,
        )
    )
    assert f'accuracy/top1: {accuracy}' in tested


@pytest.mark.parametrize(('name', 'steps'), [('any_digits', 4), ('any_digits_1percent', 1)])
def test_few_labels(pretrained: Path, tmp_path: Path, name: str, steps: int) -> None:
    output = succeeded(
        run(
            *('tools/train.py', f'configs/evaluation/semi/{name}.py', '--pretrained', pretrained),
            *('--work-dir', tmp_path, '--cfg-options', *ONE_EPOCH, f'model.backbone.{ONE_BLOCK}'),
        )
    )
    assert f'Epoch(train) [1][{steps}/{steps}]' in output
    assert 'accuracy/top5' in output


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
    output = succeeded(
        run(
            *('tools/train.py', 'configs/evaluation/supervised/r18_tinyimagenet.py', '--auto-scale-lr'),
            *('--data-root', tmp_path / 'data', '--work-dir', tmp_path / 'run'),
            *('--cfg-options', *ONE_EPOCH, 'train_dataloader.batch_size=4'),
            'train_dataloader.dataset.dataset.pipeline.1.scale=32',
        )
    )
    assert 'learning rate 0.001563: the 0.1 of batch 256, scaled linearly to 4' in output
    assert 'Epoch(train) [1][2/2]' in output
    assert re.search(r'Epoch\(val\) \[1\]\[1/1\].*accuracy/top1: (0|100)\.0', output)


@pytest.fixture(scope='module')
def imagenet(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A thousand classes of one training image, one validation image each."""
    folder = tmp_path_factory.mktemp('imagenet')
    for label in range(1000):
        picture(folder / f'train/n{label:04d}/n{label:04d}_7.JPEG')
        picture(folder / f'val/n{label:04d}/val_{label}.JPEG')
    return folder


def few_labels_of(imagenet: Path, work_dir: Path, list_file: str) -> subprocess.CompletedProcess:
    return run(
        *('tools/train.py', 'configs/evaluation/semi/resnet_in1k_1percent.py', '--data-root', imagenet),
        *('--work-dir', work_dir, '--cfg-options', *ONE_EPOCH, *SMALL_RESNET, 'train_dataloader.batch_size=4'),
        f'train_dataloader.dataset.dataset.list_file={list_file}',
        'train_dataloader.dataset.dataset.dataset.pipeline.1.scale=32',
        'val_dataloader.dataset.dataset.indices=4',
    )


def test_the_lists_of_simclr(imagenet: Path, tmp_path: Path) -> None:
    (imagenet / 'few.txt').write_text(''.join(f'n{label:04d}_7.JPEG\n' for label in range(5, 13)))
    output = succeeded(few_labels_of(imagenet, tmp_path, 'few.txt'))
    assert 'Epoch(train) [1][2/2]' in output and 'accuracy/top1' in output


def test_a_list_of_other_images(imagenet: Path, tmp_path: Path) -> None:
    (imagenet / 'other.txt').write_text('n0005_7.JPEG\nn0005_8.JPEG\n')
    (line,) = error_lines(few_labels_of(imagenet, tmp_path, 'other.txt').stderr)
    assert '1 of 2 names in the list of labelled images are not in the data set, for example n0005_8.JPEG' in line
    (line,) = error_lines(few_labels_of(imagenet, tmp_path, 'absent.txt').stderr)
    assert 'absent.txt cannot be read' in line and 'share=0.1' in line


def test_two_processes_train_together_and_test_alike(pretrained: Path, tmp_path: Path) -> None:
    config = 'configs/evaluation/linear/any_digits.py'
    options = (*ONE_EPOCH, f'model.backbone.backbone.{ONE_BLOCK}', 'train_dataloader.batch_size=64')
    two = ('-m', 'torch.distributed.run', '--standalone', '--nproc_per_node', 2)
    output = succeeded(
        run(
            *(*two, 'tools/train.py', config, '--pretrained', pretrained, '--launcher', 'pytorch'),
            *('--work-dir', tmp_path, '--cfg-options', *options),
        )
    )
    assert 'global batch 128: 64 images on each of 2 process(es)' in output
    # 360 images: the last of 52 batches of 7 is short, and two processes share them unevenly.
    found = {re.search(r'Epoch\(val\) \[1\].*(accuracy/top1: [\d.]+  accuracy/top5: [\d.]+)', output)[1]}
    test = ('tools/test.py', config, tmp_path / 'epoch_1.pth', '--work-dir', tmp_path / 'test')
    for launch, launcher, batch_size in (((), 'none', 7), (two, 'pytorch', 7), ((), 'none', 256)):
        changed = (*options, f'test_dataloader.batch_size={batch_size}')
        output = succeeded(run(*launch, *test, '--launcher', launcher, '--cfg-options', *changed))
        found.add(re.search(r'accuracy/top1: [\d.]+  accuracy/top5: [\d.]+', output)[0])
    assert len(found) == 1
