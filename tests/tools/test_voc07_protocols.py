"""Linear SVMs and low-shot on a tiny VOC 2007, from the command line."""

import json
import re
import shutil
from pathlib import Path

import pytest
from evaluation.archive_layouts import voc07
from tools.command import run
from tools.refusals import refusal

SVM, LOW_SHOT = (f'configs/evaluation/{protocol}/r50_voc07.py' for protocol in ('svm', 'lowshot'))
OPTIONS = (
    '--cfg-options', 'model.backbone.depth=18', 'test_dataloader.num_workers=0',
    'test_cfg.bank_dataloader.num_workers=0', 'test_dataloader.batch_size=16', 'test_evaluator.0.jobs=1',
    'test_evaluator.0.costs=[1.0,0.01]',
)  # fmt: skip


@pytest.fixture(scope='module')
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return voc07(tmp_path_factory.mktemp('voc'), 40)


def command(config: str, folder: Path, work_dir: Path, *options: str) -> list[object]:
    return [
        *('tools/test.py', config, '--pretrained', 'random', '--data-root', folder, '--work-dir', work_dir),
        *('--out', work_dir / 'metrics.json', *OPTIONS, *options),
    ]


def metrics(work_dir: Path, *arguments: object) -> dict[str, float]:
    result = run(*arguments)
    assert result.returncode == 0, result.stdout[-3000:] + result.stderr[-3000:]
    return json.loads((work_dir / 'metrics.json').read_text())


def test_svm_on_one_and_on_two_processes(folder: Path, tmp_path: Path) -> None:
    alone = metrics(tmp_path / 'alone', *command(SVM, folder, tmp_path / 'alone'))
    assert set(alone) == {'online_svm_map', 'online_svm_map_11_point'}
    # A class is in 16 of the 36 images that count, which is what a blind ranking reaches.
    assert all(35 < value < 100 for value in alone.values())
    both = tmp_path / 'both'
    launched = ('-m', 'torch.distributed.run', '--standalone', '--nproc_per_node', 2)
    arguments = command(SVM, folder, both, 'test_dataloader.batch_size=7')
    together = metrics(both, *launched, *arguments[:2], '--launcher', 'pytorch', *arguments[2:])
    assert together == pytest.approx(alone, abs=1e-6)


def test_low_shot(folder: Path, tmp_path: Path) -> None:
    found = metrics(tmp_path, *command(LOW_SHOT, folder, tmp_path, 'test_evaluator.0.shots=[1]'))
    assert set(found) == {'online_lowshot1_map', 'online_lowshot1_map_std'}
    assert 35 < found['online_lowshot1_map'] < 100


def test_what_does_not_fit(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture
) -> None:
    without_test = shutil.copytree(folder, tmp_path / 'VOC2007')
    (without_test / 'ImageSets/Main/test.txt').unlink()
    few = r'class number 0 has 16 positive training image\(s\), but low-shot with 96 positives needs 96'
    for config, root, message in (
        (LOW_SHOT, folder, few),
        (SVM, without_test, r'no ImageSets/Main/test\.txt in '),
        (SVM, tmp_path / 'nowhere', r"the data folder '.*nowhere' .*does not exist"),
    ):
        line = refusal(monkeypatch, capfd, *command(config, root, tmp_path))
        assert re.search(message, line), line
