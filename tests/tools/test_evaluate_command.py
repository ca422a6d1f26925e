"""tools/evaluate.py from start to end, and runs of the configs that it writes."""

import json
import re
from pathlib import Path

import pytest
import torch
from evaluation.checkpoints import of_pretraining
from tools.command import ROOT, error_lines
from tools.in_process import refusal, run_as_given, run_here


def features(protocol: str) -> tuple[str, ...]:
    """Return options for a few images, without workers."""
    queries, bank = 'test_dataloader', 'test_cfg.bank_dataloader'
    options = (f'{queries}.dataset.indices=120', f'{bank}.dataset.indices=400')
    return tuple(f'{protocol}.{option}' for option in (*options, f'{queries}.num_workers=0', f'{bank}.num_workers=0'))


KNN = features('knn')


def training(protocol: str) -> tuple[str, ...]:
    """Return options for one epoch without workers."""
    return tuple(
        f'{protocol}.{option}'
        for option in ('schedule.epochs=1', 'train_dataloader.num_workers=0', 'val_dataloader.num_workers=0')
    )


@pytest.fixture(scope='module')
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return of_pretraining(tmp_path_factory.mktemp('pretraining') / 'epoch_1.pth', num_layers=1)


def evaluate(*arguments: object) -> int:
    return run_as_given('tools/evaluate.py', *arguments)


def stored(folder: Path) -> list[dict]:
    return json.loads((folder / 'results.json').read_text())


def weights(path: str | Path) -> dict[str, torch.Tensor]:
    return torch.load(path, map_location='cpu', weights_only=True)['state_dict']


@pytest.fixture(scope='module')
def several(checkpoint: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[object]]:
    """Return the work dir and the arguments of a call with several protocols."""
    folder = tmp_path_factory.mktemp('several')
    arguments = [
        checkpoint, '--data', 'digits', '--protocols', 'knn', 'linear_fast', 'quality', 'linear', 'semi',
        '--work-dir', folder, '--recipe', '1percent', '--cfg-options', *KNN, *features('linear_fast'),
        'linear_fast.test_evaluator.epochs=20', *features('quality'), 'quality.test_evaluator.images=5',
        'quality.test_cfg.lidar.images=20', 'quality.test_cfg.lidar.views=3',
        *training('linear'), *training('semi'), 'semi.measure.every=1',
    ]  # fmt: skip
    assert evaluate(*arguments) == 0
    return folder, arguments


def test_several_protocols_then_nothing_again(
    checkpoint: Path, several: tuple[Path, list[object]], capfd: pytest.CaptureFixture
) -> None:
    folder, arguments = several
    rows = stored(folder)
    knn, fast, quality, linear, semi = rows
    assert [row['protocol']['name'] for row in rows] == ['knn', 'linear_fast', 'quality', 'linear', 'semi']
    assert {row['encoder'] for row in (knn, linear, semi)} == {'target'} and semi['protocol']['share'] == 0.01
    assert knn['checkpoint']['config_name'] == 'patchmix/vit-xs4_digits' and knn['checkpoint']['epoch'] == 1
    assert 10 < knn['metrics']['knn10_top1'] < 100 and 25 < fast['metrics']['probe_top1'] < 100
    assert quality['metrics']['cluster_images'] == 50 and -4 < quality['metrics']['uniformity'] < 0
    assert 1 < quality['metrics']['lidar'] <= 19 and quality['metrics']['lidar_views'] == 3
    assert linear['best'].keys() == linear['metrics'].keys() and Path(linear['trained']).is_file()
    assert semi['config']['path'] == 'configs/evaluation/recipes/finetune/small.py'
    assert semi['overrides']['schedule.epochs'] == 1
    pretrained, probe = weights(checkpoint), weights(linear['trained'])
    tuned = weights(semi['trained'])
    assert not torch.equal(tuned['backbone.ln1.weight'], pretrained['target.backbone.ln1.weight'])
    frozen = {name: value for name, value in probe.items() if name.startswith('backbone.backbone.')}
    assert len(frozen) > 10
    for name, value in frozen.items():
        assert torch.equal(value, pretrained[name.replace('backbone.backbone.', 'target.backbone.')]), name

    assert evaluate(*arguments) == 0
    assert stored(folder) == rows  # with the seconds of the first call
    text = (folder / 'results.md').read_text()
    assert text.strip() in capfd.readouterr().out
    assert '| patchmix/vit-xs4_digits, 1 epochs | knn | digits | target | knn10_top1 |' in text


@pytest.mark.long
def test_the_written_configs_run_by_themselves(
    checkpoint: Path, several: tuple[Path, list[object]], tmp_path: Path
) -> None:
    knn, _, _, linear, _ = stored(several[0])
    probe = weights(linear['trained'])
    knn_config, linear_config = (next(several[0].glob(f'{name}_digits_target-*.py')) for name in ('knn', 'linear'))
    out = ('--out', tmp_path / 'metrics.json')
    by_itself = ('--pretrained', checkpoint, '--work-dir', tmp_path / 'by_itself')
    assert run_here('tools/test.py', knn_config, *by_itself, *out) == 0
    found = json.loads((tmp_path / 'metrics.json').read_text())
    assert {name.removeprefix('online_'): value for name, value in found.items()} == pytest.approx(knn['metrics'])
    assert run_here('tools/train.py', linear_config, *by_itself) == 0
    again = weights(tmp_path / 'by_itself/epoch_1.pth')
    assert all(torch.equal(value, again[name]) for name, value in probe.items())
    assert run_here('tools/test.py', linear_config, linear['trained'], *by_itself[2:], *out) == 0
    assert json.loads((tmp_path / 'metrics.json').read_text()) == pytest.approx(linear['metrics'])


def test_both_encoders_a_bare_backbone_and_an_untrained_one(checkpoint: Path, tmp_path: Path) -> None:
    common = ('--data', 'digits', '--protocols', 'knn', '--work-dir', tmp_path, '--cfg-options', *KNN)
    assert evaluate(checkpoint, '--encoder', 'all', *common) == 0
    state = {name: value for name, value in weights(checkpoint).items() if name.startswith('backbone.')}
    torch.save({name.removeprefix('backbone.'): value for name, value in state.items()}, tmp_path / 'bare.pth')
    # The weights have one block; the config alone would have four.
    config = tmp_path / 'one_block.py'
    config.write_text(
        f"_base_ = '{ROOT}/configs/patchmix/vit-xs4_digits.py'\nmodel = dict(backbone=dict(arch=dict(num_layers=1)))\n"
    )
    for subject in (tmp_path / 'bare.pth', 'random'):
        assert evaluate(subject, '--config', config, *common) == 0
    online, target, of_bare, random = (row['metrics'] for row in stored(tmp_path))
    assert online == of_bare
    assert online != target and random not in (online, target)
    assert [row['encoder'] for row in stored(tmp_path)] == ['online', 'target', 'online', 'online']


def test_a_dry_run_only_writes_configs(tmp_path: Path, capfd: pytest.CaptureFixture) -> None:
    arguments = ('random', '--data', 'digits', '--protocols', 'svm', 'supervised', '--work-dir', tmp_path / 'out')
    line = refusal(capfd, 'tools/evaluate.py', *arguments, '--dry-run', options=None)  # svm needs its data
    assert "VOC2007' (test_dataloader.dataset.dataset.data_root) does not exist" in line
    assert not (tmp_path / 'out').exists()
    assert evaluate(*arguments[:4], *arguments[5:], '--dry-run') == 0
    (path,) = (tmp_path / 'out').iterdir()
    assert path.name.startswith('supervised_digits_online-') and path.suffix == '.py'


def test_one_failure_does_not_stop_the_others(checkpoint: Path, tmp_path: Path, capfd: pytest.CaptureFixture) -> None:
    code = evaluate(
        checkpoint, '--data', 'digits', '--protocols', 'linear', 'knn', '--work-dir', tmp_path,
        '--cfg-options', *KNN, *training('linear'),
        'linear.batch=5000',
    )  # fmt: skip
    assert code == 1
    stderr = capfd.readouterr().err
    (line,) = error_lines(stderr)
    assert line.startswith('error: linear on digits failed: ') and 'Traceback' not in stderr
    assert [row['protocol']['name'] for row in stored(tmp_path)] == ['knn']


def test_the_protocol_of_the_page_runs(tmp_path: Path) -> None:
    page = (ROOT / 'docs/evaluation.md').read_text()
    for name, text in re.findall(r'```python\n# (\w+\.py)\n(.*?)```', page, re.DOTALL):
        (tmp_path / name).write_text(text.replace("'configs/", f"'{ROOT}/configs/"))
    arguments = ('random', '--data', 'digits', '--protocols', 'knn', '--recipe-config', tmp_path / 'centroid_recipe.py')
    assert evaluate(*arguments, '--work-dir', tmp_path / 'out', '--cfg-options', *KNN) == 0
    (row,) = stored(tmp_path / 'out')
    assert row['metrics'].keys() == {'centroid_top1'} and 10 < row['metrics']['centroid_top1'] < 100
    assert row['config']['path'] == str(tmp_path / 'centroid_recipe.py')
