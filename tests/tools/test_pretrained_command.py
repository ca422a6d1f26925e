"""--pretrained of tools/train.py and tools/test.py as a user gives it, from a checkpoint of a real run."""

import itertools
import json
import re
import runpy
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest
import torch
from tools.command import error_lines, run

from mixcl.weights import read_pretrained

PRETRAINING = 'configs/patchmix/vit-xs4_digits.py'
LINEAR = 'configs/evaluation/linear/any_digits.py'
KNN = 'configs/evaluation/knn/any_digits.py'
DEPTH = 'arch.num_layers=1'
PROBE = (
    'train_dataloader.num_workers=0', 'val_dataloader.num_workers=0', 'test_dataloader.num_workers=0',
    'train_cfg.max_epochs=1', f'model.backbone.backbone.{DEPTH}',
)  # fmt: skip


_numbers = itertools.count()


def run_here(monkeypatch: pytest.MonkeyPatch, *arguments: object, options: Sequence[str] = ()) -> None:
    """Run a tool in this process, which saves the imports."""
    # Names of mmengine's runs are time stamps, which two quick runs would share, and their logs with them.
    options = ('--cfg-options', f'experiment_name=pretrained_{next(_numbers)}', *options)
    monkeypatch.setattr(sys, 'argv', list(map(str, (*arguments, *options))))
    monkeypatch.setattr(torch.cuda, 'is_available', lambda: False)
    runpy.run_path(str(arguments[0]), run_name='__main__')


def succeeded(result: subprocess.CompletedProcess) -> str:
    assert result.returncode == 0, result.stdout[-3000:] + result.stderr[-3000:]
    return result.stdout


@pytest.fixture(scope='module')
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp('pretraining')
    options = (
        'train_dataloader.num_workers=0', 'train_dataloader.dataset.dataset.indices=256',
        f'model.backbone.{DEPTH}', 'train_cfg.max_epochs=1',
    )  # fmt: skip
    arguments = ('--work-dir', folder, '--no-validate', '--cfg-options', *options)
    succeeded(run('tools/train.py', PRETRAINING, *arguments))
    return folder / 'epoch_1.pth'


@pytest.fixture(scope='module')
def probe(checkpoint: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    folder = tmp_path_factory.mktemp('probe')
    arguments = ('--pretrained', checkpoint, '--encoder', 'target', '--work-dir', folder, '--cfg-options', *PROBE)
    return folder, succeeded(run('tools/train.py', LINEAR, *arguments))


def test_a_checkpoint_knows_its_config(checkpoint: Path) -> None:
    found = read_pretrained(checkpoint)
    assert (found.config_name, found.epochs) == ('patchmix/vit-xs4_digits', 1)
    assert found.backbone['arch']['num_layers'] == 1


def test_a_probe_of_the_target_encoder(checkpoint: Path, probe: tuple[Path, str]) -> None:
    folder, output = probe
    assert f'backbone from the target encoder in {checkpoint}: 18 tensors loaded, new: none, unused: none' in output
    trained = read_pretrained(folder / 'epoch_1.pth')
    for name, value in read_pretrained(checkpoint, 'target').state.items():
        assert torch.equal(trained.state[name], value)


def test_the_trained_classifier_does_not_need_the_file(
    monkeypatch: pytest.MonkeyPatch, probe: tuple[Path, str], tmp_path: Path
) -> None:
    folder, output = probe
    (written,) = folder.glob('*.py')
    text = written.read_text()
    assert 'PretrainedBackboneHook' in text
    config = tmp_path / 'own.py'
    config.write_text(re.sub(r"checkpoint=\s*'[^']*\.pth'", "checkpoint='/nowhere/gone.pth'", text))
    assert '/nowhere/gone.pth' in config.read_text()
    out = tmp_path / 'metrics.json'
    arguments = ('tools/test.py', config, folder / 'epoch_1.pth', '--work-dir', tmp_path / 'test', '--out', out)
    run_here(monkeypatch, *arguments)
    accuracy = json.loads(out.read_text())['accuracy/top1']
    assert 0 < accuracy <= 100
    found = re.findall(r'accuracy/top1: ([\d.]+)', output)
    assert float(found[-1]) == pytest.approx(accuracy, abs=1e-4)


def test_knn_of_both_encoders_and_of_random_weights(
    monkeypatch: pytest.MonkeyPatch, checkpoint: Path, tmp_path: Path
) -> None:
    options = (
        f'model.backbone.{DEPTH}', 'test_dataloader.num_workers=0', 'test_cfg.bank_dataloader.num_workers=0',
        'test_cfg.bank_dataloader.dataset.indices=256', 'test_evaluator.neighbours=(10,)',
    )  # fmt: skip
    metrics = []
    for source in ((checkpoint, '--encoder', 'online'), (checkpoint, '--encoder', 'target'), ('random',)):
        out = tmp_path / 'metrics.json'
        arguments = ('--pretrained', *source, '--work-dir', tmp_path, '--out', out)
        run_here(monkeypatch, 'tools/test.py', KNN, *arguments, options=options)
        metrics.append(json.loads(out.read_text()))
        assert set(metrics[-1]) == {'online_knn10_top1', 'online_knn10_top5'}
        assert 10 < metrics[-1]['online_knn10_top1'] <= 100
    assert metrics[0] != metrics[2]


def test_two_processes_find_the_same(monkeypatch: pytest.MonkeyPatch, checkpoint: Path, tmp_path: Path) -> None:
    options = (
        f'model.backbone.{DEPTH}', 'test_dataloader.num_workers=0', 'test_cfg.bank_dataloader.num_workers=0',
        'test_cfg.bank_dataloader.dataset.indices=255', 'test_dataloader.dataset.indices=99',
    )  # fmt: skip
    one, two = tmp_path / 'one.json', tmp_path / 'two.json'
    arguments = ('tools/test.py', KNN, '--pretrained', checkpoint, '--encoder', 'target', '--work-dir', tmp_path)
    run_here(monkeypatch, *arguments, '--out', one, options=options)
    launch = ('-m', 'torch.distributed.run', '--standalone', '--nproc_per_node', 2)
    launched = (*launch, *arguments, '--out', two, '--launcher', 'pytorch', '--cfg-options', *options)
    succeeded(run(*launched))
    assert json.loads(one.read_text()) == json.loads(two.read_text())


@pytest.mark.parametrize(
    ('arguments', 'message'),
    [
        (
            ['train', LINEAR, '--pretrained', 'CHECKPOINT'],
            r'\d+ of \d+ tensors are not in the file, for example layers\.1\.',
        ),
        (['train', LINEAR, '--pretrained', '/nowhere.pth'], 'no checkpoint file /nowhere.pth'),
        (['train', LINEAR, '--encoder', 'target'], '--encoder target chooses an encoder of the checkpoint that'),
        (['test', KNN, 'CHECKPOINT'], 'takes the backbone of a checkpoint; use --pretrained'),
        (['test', KNN], 'give either the checkpoint of a run .* not none'),
        (['test', KNN, 'CHECKPOINT', '--pretrained', 'CHECKPOINT'], 'not both'),
        (
            ['test', PRETRAINING, '--pretrained', 'CHECKPOINT'],
            'all its weights from a checkpoint of its own; train it first, by tools/train.py',
        ),
    ],
)
def test_one_sentence(
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture,
    checkpoint: Path,
    tmp_path: Path,
    arguments: list[str],
    message: str,
) -> None:
    tool, *rest = [str(checkpoint) if argument == 'CHECKPOINT' else argument for argument in arguments]
    with pytest.raises(SystemExit) as exit_:
        run_here(monkeypatch, f'tools/{tool}.py', *rest, '--work-dir', tmp_path)
    captured = capfd.readouterr()
    assert exit_.value.code == 2 and 'Traceback' not in captured.out + captured.err
    (line,) = error_lines(captured.err)
    assert re.search(message, line)
