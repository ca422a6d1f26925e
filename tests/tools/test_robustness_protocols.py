"""ImageNet-A, -R and -C with a tiny classifier, from the command line.

The classifier answers by its biases alone, so that every number is known.
"""

import json
import re
import shutil
from pathlib import Path

import pytest
import torch
from evaluation.archive_layouts import class_folders, imagenet_c
from mmengine.registry import DefaultScope
from tools.command import run
from tools.in_process import refusal

from mixcl.datasets.imagenet_robustness import imagenet_classes
from mixcl.engine.runners.launch import read_config
from mixcl.evaluation.functional.robustness import ALEXNET_ERRORS
from mixcl.registry import MODELS

A, R, C = (f'configs/evaluation/robustness/any_imagenet-{letter}.py' for letter in 'arc')
ARCH = dict(num_layers=1, embed_dims=24, num_heads=2, feedforward_channels=24)
MODEL = {
    **{f'model.backbone.arch.{name}': value for name, value in ARCH.items()},
    'model.backbone.patch_size': 56,
    'model.head.in_channels': 24,
}


def classifier(path: Path, biases: dict[int, float], classes: int = 1000) -> Path:
    """Checkpoint of a classifier that prefers classes by their biases, whatever the image."""
    cfg = read_config(A, MODEL | {'model.head.num_classes': classes})
    with DefaultScope.overwrite_default_scope('mixcl'):
        model = MODELS.build(dict(cfg.model, data_preprocessor=cfg.data_preprocessor))
    torch.nn.init.zeros_(model.head.fc.weight)
    torch.nn.init.zeros_(model.head.fc.bias)
    for number, bias in biases.items():
        model.head.fc.bias.data[number] = bias
    torch.save(dict(state_dict=model.state_dict(), meta={}), path)
    return path


def command(config: str, checkpoint: Path, root: Path, work_dir: Path, *options: str) -> list[object]:
    return [
        *('tools/test.py', config, checkpoint, '--data-root', root, '--work-dir', work_dir),
        *('--out', work_dir / 'metrics.json', '--cfg-options', 'test_dataloader.num_workers=0'),
        *('test_dataloader.batch_size=32', *(f'{name}={value}' for name, value in MODEL.items()), *options),
    ]


def metrics(work_dir: Path, *arguments: object) -> dict[str, float]:
    result = run(*arguments)
    assert result.returncode == 0, result.stdout[-3000:] + result.stderr[-3000:]
    return json.loads((work_dir / 'metrics.json').read_text())


@pytest.mark.parametrize(('config', 'subset'), [(A, 'imagenet_a'), (R, 'imagenet_r')])
def test_only_the_classes_of_the_data_set_may_be_answered(config: str, subset: str, tmp_path: Path) -> None:
    root = class_folders(tmp_path / subset, subset)
    known = [imagenet_classes().index(wnid) for wnid in imagenet_classes(subset)]
    foreign = min(set(range(1000)) - set(known))
    # Without the mask the class that the data set lacks would always be answered.
    checkpoint = classifier(tmp_path / 'classifier.pth', {foreign: 9.0, known[3]: 2.0})
    found = metrics(tmp_path, *command(config, checkpoint, root, tmp_path))
    assert found == pytest.approx(dict(top1=0.5, top5=2.5))


@pytest.mark.parametrize('processes', [1, 2])
def test_imagenet_c(tmp_path: Path, processes: int) -> None:
    root = imagenet_c(tmp_path / 'c', classes=5, grouped=processes == 1)
    checkpoint = classifier(tmp_path / 'classifier.pth', {1: 1.0})
    arguments = command(C, checkpoint, root, tmp_path)
    if processes == 2:
        launched = ('-m', 'torch.distributed.run', '--standalone', '--nproc_per_node', 2)
        arguments = [*launched, *arguments[:3], '--launcher', 'pytorch', *arguments[3:]]
    found = metrics(tmp_path, *arguments)
    assert found['top1'] == pytest.approx(20)
    assert found['mce'] == pytest.approx(100 * sum(0.8 / error for error in ALEXNET_ERRORS.values()) / 15)
    assert all(found[f'top1_{corruption}'] == pytest.approx(20) for corruption in ALEXNET_ERRORS)


def test_what_does_not_fit(tmp_path: Path, capfd: pytest.CaptureFixture) -> None:
    renditions = class_folders(tmp_path / 'imagenet-r', 'imagenet_r')
    corrupted = imagenet_c(tmp_path / 'c', classes=1)
    shutil.rmtree(corrupted / 'weather/fog')
    checkpoint = classifier(tmp_path / 'classifier.pth', {})
    other = classifier(tmp_path / 'other.pth', {}, classes=100)
    for config, weights, root, message in (
        (R, other, renditions, r'head\.fc\.weight is \(100, 24\) in the file and \(1000, 24\)'),
        (A, checkpoint, renditions, 'ImageNetA: .* its 200 classes, but has 200 folders'),
        (C, checkpoint, corrupted, 'ImageNetC: folders are missing .*: fog; unpack'),
        (C, checkpoint, tmp_path / 'nowhere', "the data folder '.*nowhere' .* does not exist"),
    ):
        line = refusal(capfd, *command(config, weights, root, tmp_path))
        assert re.search(message, line), line
