"""--pretrained of tools/train.py and tools/test.py as a user gives it, from a checkpoint of a real run."""

import json
import re
from pathlib import Path

import pytest
import torch
from evaluation.composed import backbone_of, written
from tools.in_process import refusal, run_here

from mixcl.weights import read_pretrained

PRETRAINING = 'configs/patchmix/vit-xs4_digits.py'
PROBE = (
    'train_dataloader.num_workers=0', 'val_dataloader.num_workers=0', 'test_dataloader.num_workers=0',
    'train_cfg.max_epochs=1',
)  # fmt: skip


@pytest.fixture(scope='module')
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp('pretraining')
    options = (
        'train_dataloader.num_workers=0', 'train_dataloader.dataset.dataset.indices=256',
        'model.backbone.arch.num_layers=1', 'train_cfg.max_epochs=1',
    )  # fmt: skip
    assert run_here('tools/train.py', PRETRAINING, '--work-dir', folder, '--no-validate', options=options) == 0
    return folder / 'epoch_1.pth'


@pytest.fixture(scope='module')
def configs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    backbone = backbone_of('patchmix/vit-xs4_digits')
    shallow = backbone | dict(arch=backbone['arch'] | dict(num_layers=1))
    folder = tmp_path_factory.mktemp('configs')
    found = {protocol: written(folder, protocol, backbone=shallow) for protocol in ('linear', 'knn')}
    return found | dict(deep=written(folder, 'linear_fast', name='patchmix/vit-xs4_digits'))


@pytest.fixture(scope='module')
def probe(checkpoint: Path, configs: dict[str, Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp('probe')
    arguments = ('--pretrained', checkpoint, '--encoder', 'target', '--work-dir', folder)
    assert run_here('tools/train.py', configs['linear'], *arguments, options=PROBE) == 0
    return folder


def test_a_checkpoint_knows_its_config(checkpoint: Path) -> None:
    found = read_pretrained(checkpoint)
    assert (found.config_name, found.epochs) == ('patchmix/vit-xs4_digits', 1)
    assert found.backbone['arch']['num_layers'] == 1


def test_a_probe_of_the_target_encoder(checkpoint: Path, probe: Path) -> None:
    (log,) = probe.glob('*/*.log')
    expected = f'backbone from the target encoder in {checkpoint}: 18 tensors loaded, new: none, unused: none'
    assert expected in log.read_text()
    trained = read_pretrained(probe / 'epoch_1.pth')
    for name, value in read_pretrained(checkpoint, 'target').state.items():
        assert torch.equal(trained.state[name], value)


def test_the_trained_classifier_does_not_need_the_file(probe: Path, tmp_path: Path) -> None:
    (dumped,) = probe.glob('*.py')
    text = dumped.read_text()
    assert 'PretrainedBackboneHook' in text
    config, out = tmp_path / 'own.py', tmp_path / 'metrics.json'
    config.write_text(re.sub(r"checkpoint=\s*'[^']*\.pth'", "checkpoint='/nowhere/gone.pth'", text))
    assert '/nowhere/gone.pth' in config.read_text()
    arguments = (probe / 'epoch_1.pth', '--work-dir', tmp_path / 'test', '--out', out)
    assert run_here('tools/test.py', config, *arguments) == 0
    (log,) = probe.glob('*/*.log')
    found = re.findall(r'accuracy/top1: ([\d.]+)', log.read_text())
    assert float(found[-1]) == pytest.approx(json.loads(out.read_text())['accuracy/top1'], abs=1e-4)


def test_knn_of_both_encoders_and_of_random_weights(checkpoint: Path, configs: dict[str, Path], tmp_path: Path) -> None:
    options = (
        'test_dataloader.num_workers=0', 'test_cfg.bank_dataloader.num_workers=0',
        'test_cfg.bank_dataloader.dataset.indices=256', 'test_evaluator.neighbours=(10,)',
    )  # fmt: skip
    metrics = []
    for source in ((checkpoint, '--encoder', 'online'), (checkpoint, '--encoder', 'target'), ('random',)):
        out = tmp_path / 'metrics.json'
        arguments = ('--pretrained', *source, '--work-dir', tmp_path, '--out', out)
        assert run_here('tools/test.py', configs['knn'], *arguments, options=options) == 0
        metrics.append(json.loads(out.read_text()))
        assert set(metrics[-1]) == {'online_knn10_top1', 'online_knn10_top5'}
        assert 10 < metrics[-1]['online_knn10_top1'] <= 100
    assert metrics[0] != metrics[2]


def test_one_sentence(
    checkpoint: Path, configs: dict[str, Path], tmp_path: Path,
    capfd: pytest.CaptureFixture,
) -> None:  # fmt: skip
    for tool, *arguments, message in (
        (
            'test',
            configs['deep'],
            '--pretrained',
            checkpoint,
            r'tensors are not in the file, .* layers\.1\.',
        ),
        ('train', configs['linear'], '--pretrained', '/nowhere.pth', 'no checkpoint file /nowhere.pth'),
        (
            'train',
            configs['linear'],
            '--encoder',
            'target',
            'target chooses an encoder of the checkpoint that',
        ),
        ('test', configs['knn'], checkpoint, 'takes the backbone of a checkpoint; use --pretrained'),
        ('test', configs['knn'], 'give either the checkpoint of a run .* not none'),
        ('test', configs['knn'], checkpoint, '--pretrained', checkpoint, 'not both'),
        (
            'test',
            PRETRAINING,
            '--pretrained',
            checkpoint,
            'weights from a checkpoint of its own; train it first',
        ),
    ):
        words = (f'tools/{tool}.py', *arguments, '--work-dir', tmp_path)
        line = refusal(capfd, *words)
        assert re.search(message, line), line
