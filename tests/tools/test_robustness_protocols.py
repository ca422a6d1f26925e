"""ImageNet-A, -R and -C from the command line: a classifier whose answers are known, and one that is fine-tuned."""

import json
import os
import re
import shutil
from pathlib import Path

import pytest
import torch
from evaluation.archive_layouts import class_folders, imagenet_c, picture
from evaluation.checkpoints import of_classifier
from evaluation.composed import composed, written
from mmengine.config import Config
from tools.command import run
from tools.in_process import refusal, run_as_given, run_here

from mixcl.datasets.imagenet_robustness import imagenet_classes
from mixcl.evaluation.functional.robustness import ALEXNET_ERRORS
from mixcl.registry import MODELS
from mixcl.weights import read_pretrained

HEADS = 6  # as DINO's ViT-S; MoCo v3's has twelve
BACKBONE = dict(
    type='ContrastiveViT',
    arch=dict(embed_dims=24, num_layers=1, num_heads=HEADS, feedforward_channels=24),
    img_size=224,
    patch_size=56,
)


def classifier(path: Path, biases: dict[int, float], classes: int = 1000) -> Path:
    """Checkpoint of a classifier that prefers classes by their biases, whatever the image."""
    overrides = {'model.head.num_classes': classes}
    cfg = composed('robustness', 'imagenet-a', backbone=BACKBONE, overrides=overrides)
    return of_classifier(path, cfg, biases, stored=False)


def command(data: str, checkpoint: Path, root: Path, work_dir: Path) -> list[object]:
    config = written(work_dir, 'robustness', data, backbone=BACKBONE)
    options = ('test_dataloader.num_workers=0', 'test_dataloader.batch_size=32')
    return [
        *('tools/test.py', config, checkpoint, '--data-root', root, '--work-dir', work_dir),
        *('--out', work_dir / 'metrics.json', '--cfg-options', *options),
    ]


def metrics(work_dir: Path, *arguments: object) -> dict[str, float]:
    place = arguments.index('--cfg-options')
    assert run_here(*arguments[:place], options=arguments[place + 1 :]) == 0
    return json.loads((work_dir / 'metrics.json').read_text())


@pytest.mark.parametrize('letter', ['a', 'r'])
def test_only_the_classes_of_the_data_set_may_be_answered(letter: str, tmp_path: Path) -> None:
    root = class_folders(tmp_path / 'data', f'imagenet_{letter}')
    known = [imagenet_classes().index(wnid) for wnid in imagenet_classes(f'imagenet_{letter}')]
    foreign = min(set(range(1000)) - set(known))
    # Without the mask the class that the data set lacks would always be answered.
    checkpoint = classifier(tmp_path / 'classifier.pth', {foreign: 9.0, known[3]: 2.0})
    found = metrics(tmp_path, *command(f'imagenet-{letter}', checkpoint, root, tmp_path))
    assert found == pytest.approx(dict(top1=0.5, top5=2.5))


@pytest.mark.parametrize('processes', [1, pytest.param(2, marks=pytest.mark.long)])
def test_imagenet_c(tmp_path: Path, processes: int) -> None:
    root = imagenet_c(tmp_path / 'c', classes=5, grouped=processes == 1)
    arguments = command('imagenet-c', classifier(tmp_path / 'classifier.pth', {1: 1.0}), root, tmp_path)
    if processes == 1:
        found = metrics(tmp_path, *arguments)
    else:
        launch = ('-m', 'torch.distributed.run', '--standalone', '--nproc_per_node', 2)
        result = run(*launch, *arguments[:3], '--launcher', 'pytorch', *arguments[3:])
        assert result.returncode == 0, result.stderr[-3000:]
        found = json.loads((tmp_path / 'metrics.json').read_text())
    assert found['top1'] == pytest.approx(20)
    assert found['mce'] == pytest.approx(100 * sum(0.8 / error for error in ALEXNET_ERRORS.values()) / 15)
    assert all(found[f'top1_{corruption}'] == pytest.approx(20) for corruption in ALEXNET_ERRORS)


def test_what_does_not_fit(tmp_path: Path, capfd: pytest.CaptureFixture) -> None:
    renditions = class_folders(tmp_path / 'imagenet-r', 'imagenet_r')
    corrupted = imagenet_c(tmp_path / 'c', classes=1)
    shutil.rmtree(corrupted / 'weather/fog')
    checkpoint = classifier(tmp_path / 'classifier.pth', {})
    other = classifier(tmp_path / 'other.pth', {}, classes=100)
    for data, weights, root, message in (
        ('imagenet-r', other, renditions, r'head\.fc\.weight is \(100, 24\) in the file and \(1000, 24\)'),
        ('imagenet-a', checkpoint, renditions, 'ImageNetA: .* its 200 classes, but has 200 folders'),
        ('imagenet-c', checkpoint, corrupted, 'ImageNetC: folders are missing .*: fog; unpack'),
        ('imagenet-c', checkpoint, tmp_path / 'nowhere', "the data folder '.*nowhere' .* does not exist"),
    ):
        line = refusal(capfd, *command(data, weights, root, tmp_path))
        assert re.search(message, line), line


@pytest.fixture
def archives(tmp_path: Path) -> list[str]:
    """``--data-root``: ImageNet-1K with an image per class, and the archives."""
    picture(tmp_path / 'source.jpg')
    for wnid in imagenet_classes():
        for path in (tmp_path / f'in1k/train/{wnid}/{wnid}_1.JPEG', tmp_path / f'in1k/val/{wnid}/val_1.JPEG'):
            path.parent.mkdir(parents=True)
            os.link(tmp_path / 'source.jpg', path)
    for letter in 'ar':
        class_folders(tmp_path / f'imagenet-{letter}', f'imagenet_{letter}')
    imagenet_c(tmp_path / 'imagenet-c', classes=1)
    return [f'{name}={tmp_path / name}' for name in ('in1k', 'imagenet-a', 'imagenet-r', 'imagenet-c')]


def evaluated(work_dir: Path, checkpoint: Path, data: str, archives: list[str], *arguments: str) -> list[dict]:
    places = ('--data', data, '--data-root', *archives, '--work-dir', work_dir)
    assert run_as_given('tools/evaluate.py', checkpoint, *places, *arguments) == 0
    return json.loads((work_dir / 'results.json').read_text())


@pytest.mark.long
def test_fine_tuning_then_robustness(tmp_path: Path, archives: list[str]) -> None:
    config = dict(model=dict(type='ContrastiveLearner', backbone=BACKBONE), config_name='dino/vit-s16_in1k')
    torch.manual_seed(0)
    state = {f'backbone.{name}': value for name, value in MODELS.build(BACKBONE).state_dict().items()}
    pretrained = tmp_path / 'epoch_1.pth'
    torch.save(dict(state_dict=state, meta=dict(cfg=Config(config).pretty_text, epoch=1)), pretrained)
    tiny = ('train_cfg.max_epochs=2', 'optim_wrapper.optimizer.lr=0.1', 'train_dataloader.batch_size=8',
            'auto_scale_lr.base_batch_size=8', 'train_dataloader.num_workers=0', 'val_dataloader.num_workers=0',
            'train_dataloader.dataset.dataset.indices=8', 'val_dataloader.dataset.dataset.indices=4')  # fmt: skip
    loader = ('test_dataloader.num_workers=0', 'test_dataloader.batch_size=50')
    of_robustness = [f'robustness.{option}' for option in loader]
    both = tmp_path / 'both'
    rows = evaluated(
        both, pretrained, 'in1k', archives, '--protocols', 'finetune', 'robustness', '--cfg-options',
        *(f'finetune.{option}' for option in tiny), *of_robustness,
    )  # fmt: skip
    finetune, *robustness = rows
    assert finetune['config']['path'] == 'configs/evaluation/recipes/finetune/deit.py'
    assert [row['data'] for row in robustness] == ['in1k', 'imagenet-a', 'imagenet-r', 'imagenet-c']
    expected = [{'accuracy/top1', 'accuracy/top5'}, {'top1', 'top5'}, {'top1', 'top5'}]
    assert [set(row['metrics']) for row in robustness[:3]] == expected
    assert len(robustness[3]['metrics']) == 17 and robustness[3]['metrics']['mce'] > 0
    trained = Path(finetune['trained'])
    assert trained.name == 'epoch_2.pth' and read_pretrained(trained).backbone['arch']['num_heads'] == HEADS
    composed_files = sorted(both.glob('robustness_*.py'))
    assert len(composed_files) == 4
    assert all(Config.fromfile(path).model.backbone.arch.num_heads == HEADS for path in composed_files)

    (alone,) = evaluated(
        tmp_path / 'alone', trained, 'imagenet-a', [archives[1]],
        '--protocols', 'robustness', '--cfg-options', *of_robustness,
    )  # fmt: skip
    assert alone['metrics'] == robustness[1]['metrics']
    # As an ordinary test, for clusters.
    (path,) = both.glob('robustness_imagenet-r_*.py')
    arguments = ('--work-dir', tmp_path / 'test', '--out', tmp_path / 'metrics.json')
    assert run_here('tools/test.py', path, trained, *arguments) == 0
    assert json.loads((tmp_path / 'metrics.json').read_text()) == robustness[2]['metrics']
