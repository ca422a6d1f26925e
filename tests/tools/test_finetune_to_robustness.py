"""From a checkpoint to ImageNet-A, -R and -C: fine-tuning, then robustness, from the command line on tiny archives."""

import json
import os
import subprocess
from pathlib import Path

import pytest
import torch
from evaluation.archive_layouts import class_folders, imagenet_c, picture
from mmengine.config import Config
from tools.command import run

from mixcl.datasets.imagenet_robustness import imagenet_classes
from mixcl.registry import MODELS
from mixcl.weights import read_pretrained

HEADS = 6  # as DINO's ViT-S; the configs of the evaluation have twelve
BACKBONE = dict(
    type='ContrastiveViT',
    arch=dict(embed_dims=24, num_layers=1, num_heads=HEADS, feedforward_channels=24),
    img_size=224,
    patch_size=56,
)
FINETUNE = (
    'finetune.train_cfg.max_epochs=2', 'finetune.optim_wrapper.optimizer.lr=0.1',
    'finetune.train_dataloader.batch_size=8', 'finetune.auto_scale_lr.base_batch_size=8',
    'finetune.train_dataloader.num_workers=0',
    'finetune.train_dataloader.dataset.dataset.indices=8', 'finetune.val_dataloader.num_workers=0',
    'finetune.val_dataloader.dataset.dataset.indices=4',
)  # fmt: skip
ROBUSTNESS = ('robustness.test_dataloader.num_workers=0', 'robustness.test_dataloader.batch_size=50')


@pytest.fixture(scope='module')
def archives(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """``--data-root``: ImageNet-1K with an image per class, and the archives."""
    root = tmp_path_factory.mktemp('archives')
    picture(root / 'source.jpg')
    for wnid in imagenet_classes():
        for path in (root / f'in1k/train/{wnid}/{wnid}_1.JPEG', root / f'in1k/val/{wnid}/val_1.JPEG'):
            path.parent.mkdir(parents=True)
            os.link(root / 'source.jpg', path)
    for letter in 'ar':
        class_folders(root / f'imagenet-{letter}', f'imagenet_{letter}')
    imagenet_c(root / 'imagenet-c', classes=1)
    return [f'{name}={root / name}' for name in ('in1k', 'imagenet-a', 'imagenet-r', 'imagenet-c')]


@pytest.fixture(scope='module')
def pretrained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A checkpoint as DINO's pretraining leaves it, with a backbone of six heads."""
    config = dict(model=dict(type='ContrastiveLearner', backbone=BACKBONE), config_name='dino/vit-s16_in1k')
    torch.manual_seed(0)
    backbone = MODELS.build(BACKBONE)
    path = tmp_path_factory.mktemp('pretrained') / 'epoch_1.pth'
    state = {f'backbone.{name}': value for name, value in backbone.state_dict().items()}
    torch.save(dict(state_dict=state, meta=dict(cfg=Config(config).pretty_text, epoch=1)), path)
    return path


def succeeded(result: subprocess.CompletedProcess) -> str:
    assert result.returncode == 0, result.stdout[-3000:] + result.stderr[-3000:]
    return result.stdout


def evaluated(work_dir: Path, checkpoint: Path, data: str, archives: list[str], *arguments: object) -> list[dict]:
    command = ('tools/evaluate.py', checkpoint, '--data', data, '--data-root', *archives, '--work-dir', work_dir)
    succeeded(run(*command, *arguments, timeout=400))
    return json.loads((work_dir / 'results.json').read_text())


def heads_of_the_run(folder: Path) -> set[int]:
    """Of the configs that mmengine writes beside the logs of a run."""
    return {Config.fromfile(path).model.backbone.arch.num_heads for path in folder.glob('*.py')}


def test_fine_tuning_then_robustness(pretrained: Path, archives: list[str], tmp_path: Path) -> None:
    rows = evaluated(
        tmp_path / 'both', pretrained, 'in1k', archives,
        '--protocols', 'finetune', 'robustness', '--cfg-options', *FINETUNE, *ROBUSTNESS,
    )  # fmt: skip
    finetune, *robustness = rows
    assert finetune['config']['path'] == 'configs/evaluation/finetune/vit-s16_in1k_dino.py'
    assert [row['data'] for row in robustness] == ['in1k', 'imagenet-a', 'imagenet-r', 'imagenet-c']
    expected = [{'accuracy/top1', 'accuracy/top5'}, {'top1', 'top5'}, {'top1', 'top5'}]
    assert [set(row['metrics']) for row in robustness[:3]] == expected
    assert len(robustness[3]['metrics']) == 17 and robustness[3]['metrics']['mce'] > 0
    trained = Path(finetune['trained'])
    assert trained.name == 'epoch_2.pth' and read_pretrained(trained).backbone['arch']['num_heads'] == HEADS
    folders = [folder for folder in (tmp_path / 'both').iterdir() if folder.name.startswith('robustness')]
    assert len(folders) == 4 and all(heads_of_the_run(folder) == {HEADS} for folder in folders)

    arguments = ('--protocols', 'robustness', '--cfg-options', *ROBUSTNESS)
    for position, data in ((1, 'imagenet-a'), (3, 'imagenet-c')):
        (alone,) = evaluated(tmp_path / data, trained, data, [archives[position]], *arguments)
        assert alone['metrics'] == robustness[position]['metrics']

    # As an ordinary test, for clusters: the model is that of the checkpoint too.
    config, folder = 'configs/evaluation/robustness/any_imagenet-r.py', archives[2].partition('=')[2]
    arguments = ('--data-root', folder, '--work-dir', tmp_path / 'test', '--out', tmp_path / 'metrics.json')
    options = [option.removeprefix('robustness.') for option in ROBUSTNESS]
    succeeded(run('tools/test.py', config, trained, *arguments, '--cfg-options', *options))
    assert json.loads((tmp_path / 'metrics.json').read_text()) == robustness[2]['metrics']
    assert heads_of_the_run(tmp_path / 'test') == {HEADS}
