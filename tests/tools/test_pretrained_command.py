"""--pretrained of tools/train.py and tools/test.py, as a user gives it."""

import json
import re
from pathlib import Path

import pytest
from evaluation.checkpoints import of_pretraining
from evaluation.composed import backbone_of, written
from tools.in_process import refusal, run_here

PRETRAINING = 'configs/patchmix/vit-xs4_digits.py'
PROBE = (
    'train_dataloader.num_workers=0', 'val_dataloader.num_workers=0', 'test_dataloader.num_workers=0',
    'schedule.epochs=1',
)  # fmt: skip


@pytest.fixture(scope='module')
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return of_pretraining(tmp_path_factory.mktemp('pretraining') / 'epoch_1.pth', num_layers=1)


@pytest.fixture(scope='module')
def configs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    backbone = backbone_of('patchmix/vit-xs4_digits')
    shallow = backbone | dict(arch=backbone['arch'] | dict(num_layers=1))
    folder = tmp_path_factory.mktemp('configs')
    found = {protocol: written(folder, protocol, backbone=shallow) for protocol in ('linear', 'knn')}
    return found | dict(deep=written(folder, 'linear_fast', name='patchmix/vit-xs4_digits'))


def test_a_trained_probe_does_not_need_its_first_file(
    checkpoint: Path, configs: dict[str, Path], tmp_path: Path
) -> None:
    probe, out, config = tmp_path / 'probe', tmp_path / 'metrics.json', tmp_path / 'own.py'
    arguments = ('--pretrained', checkpoint, '--encoder', 'target', '--work-dir', probe)
    assert run_here('tools/train.py', configs['linear'], *arguments, options=PROBE) == 0
    (log,) = probe.glob('*/*.log')
    expected = f'backbone from the target encoder in {checkpoint}: format: mixcl; 18 tensors loaded; new: none;'
    assert expected in log.read_text()
    (dumped,) = probe.glob('*.py')
    assert 'PretrainedBackboneHook' in dumped.read_text()
    config.write_text(re.sub(r"checkpoint=\s*'[^']*\.pth'", "checkpoint='/nowhere/gone.pth'", dumped.read_text()))
    assert '/nowhere/gone.pth' in config.read_text()
    assert run_here('tools/test.py', config, probe / 'epoch_1.pth', '--work-dir', tmp_path / 'test', '--out', out) == 0
    found = re.findall(r'accuracy/top1: ([\d.]+)', log.read_text())
    assert float(found[-1]) == pytest.approx(json.loads(out.read_text())['accuracy/top1'], abs=1e-4)


def test_one_sentence(
    checkpoint: Path, configs: dict[str, Path], tmp_path: Path,
    capfd: pytest.CaptureFixture,
) -> None:  # fmt: skip
    given = ('--pretrained', checkpoint)
    for tool, *arguments, message in (
        ('test', configs['deep'], *given, r'tensors are not in the file, .* layers\.1\.'),
        ('train', configs['linear'], '--pretrained', '/nowhere.pth', 'no checkpoint file /nowhere.pth'),
        ('train', configs['linear'], '--encoder', 'target', 'target chooses an encoder of the checkpoint that'),
        ('test', configs['knn'], 'give --pretrained CHECKPOINT'),
        ('test', configs['knn'], checkpoint, *given, 'give --pretrained CHECKPOINT, and no other'),
        ('test', PRETRAINING, *given, 'give the CHECKPOINT of a run of it'),
        ('test', PRETRAINING, checkpoint, '--encoder', 'target', 'and no other weights or encoder'),
    ):
        words = (f'tools/{tool}.py', *arguments, '--work-dir', tmp_path)
        line = refusal(capfd, *words)
        assert re.search(message, line), line
