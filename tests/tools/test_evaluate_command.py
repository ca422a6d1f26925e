"""tools/evaluate.py from start to end, and the configs that it writes by themselves."""

import json
import re
from pathlib import Path

import pytest
import torch
from evaluation.checkpoints import of_pretraining
from tools.command import ROOT, error_lines, run
from tools.in_process import run_as_given, run_here

KNN = (
    'knn.test_dataloader.num_workers=0', 'knn.test_dataloader.dataset.indices=120',
    'knn.test_cfg.bank_dataloader.num_workers=0', 'knn.test_cfg.bank_dataloader.dataset.indices=400',
)  # fmt: skip


def training(protocol: str) -> tuple[str, ...]:
    """One epoch of four batches, without workers."""
    return tuple(
        f'{protocol}.{option}'
        for option in ('train_cfg.max_epochs=1', 'train_dataloader.num_workers=0', 'val_dataloader.num_workers=0')
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


def test_several_protocols_then_nothing_again(checkpoint: Path, tmp_path: Path, capfd: pytest.CaptureFixture) -> None:
    arguments = (
        checkpoint, '--data', 'digits', '--protocols', 'knn', 'linear', 'semi', '--work-dir', tmp_path,
        '--recipe', '1percent', '--cfg-options', *KNN, *training('linear'), *training('semi'),
        'semi.train_cfg.val_interval=1',
    )  # fmt: skip
    assert evaluate(*arguments) == 0
    rows = stored(tmp_path)
    knn, linear, semi = rows
    assert [row['protocol']['name'] for row in rows] == ['knn', 'linear', 'semi']
    assert {row['encoder'] for row in rows} == {'target'} and semi['protocol']['share'] == 0.01
    assert knn['checkpoint']['config_name'] == 'patchmix/vit-xs4_digits' and knn['checkpoint']['epoch'] == 1
    assert 10 < knn['metrics']['knn10_top1'] < 100
    assert linear['best'].keys() == linear['metrics'].keys() and Path(linear['trained']).is_file()
    assert semi['config']['path'] == 'configs/evaluation/recipes/finetune/small.py'
    assert semi['overrides']['train_cfg.max_epochs'] == 1
    text = (tmp_path / 'results.md').read_text()
    assert text.strip() in capfd.readouterr().out
    assert '| patchmix/vit-xs4_digits, 1 epochs | knn | digits | target | knn10_top1 |' in text

    pretrained, probe = weights(checkpoint), weights(linear['trained'])
    tuned = weights(semi['trained'])
    assert not torch.equal(tuned['backbone.ln1.weight'], pretrained['target.backbone.ln1.weight'])
    frozen = {name: value for name, value in probe.items() if name.startswith('backbone.backbone.')}
    assert len(frozen) > 10
    for name, value in frozen.items():
        assert torch.equal(value, pretrained[name.replace('backbone.backbone.', 'target.backbone.')]), name

    assert evaluate(*arguments) == 0
    assert stored(tmp_path) == rows  # with the seconds of the first time


@pytest.mark.long
def test_the_written_configs_run_by_themselves(checkpoint: Path, tmp_path: Path) -> None:
    options = (*KNN, *training('linear'))
    protocols = ('--protocols', 'knn', 'linear', '--work-dir', tmp_path, '--cfg-options', *options)
    assert evaluate(checkpoint, '--data', 'digits', *protocols) == 0
    knn, linear = stored(tmp_path)
    probe = weights(linear['trained'])
    written = {protocol: next(tmp_path.glob(f'{protocol}_digits_target-*.py')) for protocol in ('knn', 'linear')}
    out = ('--out', tmp_path / 'metrics.json')
    by_itself = ('--pretrained', checkpoint, '--work-dir', tmp_path / 'by_itself')
    assert run_here('tools/test.py', written['knn'], *by_itself, *out) == 0
    found = json.loads((tmp_path / 'metrics.json').read_text())
    assert {name.removeprefix('online_'): value for name, value in found.items()} == pytest.approx(knn['metrics'])
    assert run_here('tools/train.py', written['linear'], *by_itself) == 0
    again = weights(tmp_path / 'by_itself/epoch_1.pth')
    assert all(torch.equal(value, again[name]) for name, value in probe.items())
    assert run_here('tools/test.py', written['linear'], linear['trained'], *by_itself[2:], *out) == 0
    assert json.loads((tmp_path / 'metrics.json').read_text()) == pytest.approx(linear['metrics'])


def test_both_encoders_a_bare_backbone_and_an_untrained_one(checkpoint: Path, tmp_path: Path) -> None:
    common = ('--data', 'digits', '--protocols', 'knn', '--work-dir', tmp_path, '--cfg-options', *KNN)
    assert evaluate(checkpoint, '--encoder', 'all', *common) == 0
    state = {name: value for name, value in weights(checkpoint).items() if name.startswith('backbone.')}
    torch.save({name.removeprefix('backbone.'): value for name, value in state.items()}, tmp_path / 'bare.pth')
    # The layout of the weights: the config alone would have four blocks.
    config = tmp_path / 'one_block.py'
    config.write_text(
        f"_base_ = '{ROOT}/configs/patchmix/vit-xs4_digits.py'\nmodel = dict(backbone=dict(arch=dict(num_layers=1)))\n"
    )
    for subject in (tmp_path / 'bare.pth', 'random'):
        assert evaluate(subject, '--backbone-config', config, *common) == 0
    online, target, of_bare, random = (row['metrics'] for row in stored(tmp_path))
    assert online == of_bare
    assert online != target and random not in (online, target)
    assert [row['encoder'] for row in stored(tmp_path)] == ['online', 'target', 'online', 'online']


def test_a_dry_run_only_writes_configs(tmp_path: Path) -> None:
    arguments = ('random', '--data', 'digits', '--protocols', 'svm', 'supervised', '--work-dir', tmp_path / 'out')
    assert evaluate(*arguments, '--dry-run') == 2  # svm needs its data
    assert not (tmp_path / 'out').exists()
    assert evaluate(*arguments[:4], *arguments[5:], '--dry-run') == 0
    (path,) = (tmp_path / 'out').iterdir()
    assert path.name.startswith('supervised_digits_online-') and path.suffix == '.py'


def test_one_failure_does_not_stop_the_others(checkpoint: Path, tmp_path: Path, capfd: pytest.CaptureFixture) -> None:
    code = evaluate(
        checkpoint, '--data', 'digits', '--protocols', 'linear', 'knn', '--work-dir', tmp_path,
        '--cfg-options', *KNN, *training('linear'),
        'linear.train_dataloader.batch_size=5000', 'linear.auto_scale_lr.base_batch_size=5000',
    )  # fmt: skip
    assert code == 1
    stderr = capfd.readouterr().err
    (line,) = error_lines(stderr)
    assert line.startswith('error: linear on digits failed: ') and 'Traceback' not in stderr
    assert [row['protocol']['name'] for row in stored(tmp_path)] == ['knn']


@pytest.mark.long
def test_two_processes_give_what_one_gives(checkpoint: Path, tmp_path: Path) -> None:
    workers = (*KNN, *(option.replace('knn', 'linear_fast') for option in KNN))
    arguments = (checkpoint, '--data', 'digits', '--protocols', 'knn', 'linear_fast', '--cfg-options', *workers)
    assert evaluate(*arguments, '--work-dir', tmp_path / 'one') == 0
    launch = ('-m', 'torch.distributed.run', '--standalone', '--nproc_per_node', 2, 'tools/evaluate.py')
    result = run(*launch, *arguments, '--work-dir', tmp_path / 'two', '--launcher', 'pytorch', timeout=300)
    assert result.returncode == 0, result.stderr[-3000:]
    one, two = stored(tmp_path / 'one'), stored(tmp_path / 'two')
    assert [row['metrics'] for row in one] == [row['metrics'] for row in two]


def test_what_cannot_work_is_said_before_anything_starts(
    checkpoint: Path, tmp_path: Path, capfd: pytest.CaptureFixture
) -> None:
    bare, no_target = tmp_path / 'bare.pth', tmp_path / 'no_target.pth'
    torch.save({'weight': torch.zeros(2)}, bare)
    content = torch.load(checkpoint, map_location='cpu', weights_only=True)
    content['state_dict'] = {k: v for k, v in content['state_dict'].items() if not k.startswith('target.')}
    torch.save(content, no_target)
    digits, out = ('--data', 'digits', '--protocols', 'knn'), tmp_path / 'out'
    for arguments, message in (
        (
            (checkpoint, '--data', 'cifar10', *digits[2:], '--data-root', tmp_path / 'none'),
            "folder '.*none' .* not exist",
        ),
        ((checkpoint, *digits, 'linear', '--backbone-config', 'configs/patchmix/vit-s2_cifar10.py'), 'does not fit'),
        ((tmp_path / 'missing.pth', *digits), 'there is no checkpoint file'),
        ((bare, *digits), 'say by --backbone-config'),
        ((no_target, '--encoder', 'target', *digits), 'has the encoder online only'),
    ):
        assert evaluate(*arguments, '--work-dir', out) == 2
        stderr = capfd.readouterr().err
        (line,) = error_lines(stderr)
        assert re.search(message, line) and 'Traceback' not in stderr
        assert not out.exists()
    out.mkdir()
    (out / 'results.json').write_text('{}x')
    assert evaluate(checkpoint, *digits, '--work-dir', out) == 2
    assert 'holds no results' in capfd.readouterr().err


def test_the_protocol_of_the_page_runs(tmp_path: Path) -> None:
    page = (ROOT / 'docs/evaluation.md').read_text()
    for name, text in re.findall(r'```python\n# (\w+\.py)\n(.*?)```', page, re.DOTALL):
        (tmp_path / name).write_text(text.replace("'configs/", f"'{ROOT}/configs/"))
    arguments = ('random', '--data', 'digits', '--protocols', 'knn', '--config', tmp_path / 'centroid_recipe.py')
    assert evaluate(*arguments, '--work-dir', tmp_path / 'out', '--cfg-options', *KNN) == 0
    (row,) = stored(tmp_path / 'out')
    assert row['metrics'].keys() == {'centroid_top1'} and 10 < row['metrics']['centroid_top1'] < 100
    assert row['config']['path'] == str(tmp_path / 'centroid_recipe.py')
