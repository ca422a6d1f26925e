"""tools/evaluate.py from start to end, on a checkpoint of a very short pretraining."""

import json
import re
import subprocess
from pathlib import Path

import pytest
import torch
from tools.command import ROOT, error_lines, run

DIGITS = 'configs/patchmix/vit-xs4_digits.py'
KNN = ('knn.test_dataloader.num_workers=0', 'knn.test_cfg.bank_dataloader.num_workers=0')


def training(protocol: str) -> tuple[str, ...]:
    """One epoch of four batches, without workers."""
    return (
        f'{protocol}.train_cfg.max_epochs=1',
        f'{protocol}.train_dataloader.num_workers=0',
        f'{protocol}.val_dataloader.num_workers=0',
    )


@pytest.fixture(scope='module')
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp('pretraining')
    options = (
        'train_cfg.max_epochs=1', 'train_dataloader.num_workers=0', 'train_dataloader.dataset.dataset.indices=256',
        'model.backbone.arch.num_layers=1',
    )  # fmt: skip
    result = run('tools/train.py', DIGITS, '--work-dir', folder, '--no-validate', '--cfg-options', *options)
    assert result.returncode == 0, result.stderr[-3000:]
    return folder / 'epoch_1.pth'


def evaluate(*arguments: object) -> subprocess.CompletedProcess:
    return run('tools/evaluate.py', *arguments, timeout=300)


def stored(folder: Path) -> list[dict]:
    return json.loads((folder / 'results.json').read_text())


def refusal(*arguments: object) -> str:
    result = evaluate(*arguments)
    assert result.returncode == 2, result.stderr[-3000:]
    assert 'Traceback' not in result.stderr
    (line,) = error_lines(result.stderr)
    return line


def test_several_protocols_then_nothing_again(checkpoint: Path, tmp_path: Path) -> None:
    arguments = (
        checkpoint, '--data', 'digits', '--protocols', 'knn', 'linear', 'finetune', '--work-dir', tmp_path,
        '--cfg-options', *KNN, *training('linear'), *training('finetune'),
    )  # fmt: skip
    result = evaluate(*arguments)
    assert result.returncode == 0, result.stderr[-3000:]
    rows = stored(tmp_path)
    assert [row['protocol']['name'] for row in rows] == ['knn', 'linear', 'finetune']
    knn, linear, finetune = rows
    assert knn['encoder'] == linear['encoder'] == 'target'
    assert knn['checkpoint']['config_name'] == 'patchmix/vit-xs4_digits' and knn['checkpoint']['epoch'] == 1
    assert 10 < knn['metrics']['knn10_top1'] < 100
    assert linear['best'].keys() == linear['metrics'].keys() and Path(linear['trained']).is_file()
    assert finetune['config']['path'] == 'configs/evaluation/finetune/any_digits.py'
    before = result.stdout.partition('Epoch(')[0]
    assert all(
        f'evaluated by configs/evaluation/{name}/any_digits.py' in before for name in ('knn', 'linear', 'finetune')
    )
    assert finetune['overrides']['train_cfg.max_epochs'] == 1
    text = (tmp_path / 'results.md').read_text()
    assert text.strip() in result.stdout
    assert '| patchmix/vit-xs4_digits, 1 epochs | knn | digits | target | knn10_top1 |' in text
    trained = torch.load(finetune['trained'], map_location='cpu', weights_only=True)['state_dict']
    pretrained = torch.load(checkpoint, map_location='cpu', weights_only=True)['state_dict']
    assert not torch.equal(trained['backbone.ln1.weight'], pretrained['target.backbone.ln1.weight'])

    again = evaluate(*arguments)
    assert again.returncode == 0 and again.stdout.count('is finished already') == 3
    assert stored(tmp_path) == rows

    linear_weights = torch.load(linear['trained'], map_location='cpu', weights_only=True)['state_dict']
    frozen = {name: value for name, value in linear_weights.items() if name.startswith('backbone.backbone.')}
    assert frozen
    for name, value in frozen.items():
        assert torch.equal(value, pretrained[name.replace('backbone.backbone.', 'target.backbone.')]), name


def test_both_encoders_a_bare_backbone_and_an_untrained_one(checkpoint: Path, tmp_path: Path) -> None:
    common = ('--data', 'digits', '--protocols', 'knn', '--work-dir', tmp_path, '--cfg-options', *KNN)
    assert evaluate(checkpoint, '--encoder', 'all', *common).returncode == 0
    state = torch.load(checkpoint, map_location='cpu', weights_only=True)['state_dict']
    bare = {name.removeprefix('backbone.'): value for name, value in state.items() if name.startswith('backbone.')}
    torch.save(bare, tmp_path / 'bare.pth')
    # The layout of the weights: the config alone would have four blocks.
    config = tmp_path / 'one_block.py'
    config.write_text(f"_base_ = '{Path(DIGITS).resolve()}'\nmodel = dict(backbone=dict(arch=dict(num_layers=1)))\n")
    for subject in (tmp_path / 'bare.pth', 'random'):
        result = evaluate(subject, '--backbone-config', config, *common)
        assert result.returncode == 0, result.stderr[-3000:]
    online, target, of_bare, random = (row['metrics'] for row in stored(tmp_path))
    assert online == of_bare
    assert online != target and random not in (online, target)
    assert [row['encoder'] for row in stored(tmp_path)] == ['online', 'target', 'online', 'online']


def test_a_residual_network_of_any_name(tmp_path: Path) -> None:
    config = tmp_path / 'mine.py'
    config.write_text("default_scope = 'mixcl'\nmodel = dict(backbone=dict(type='mmpretrain.ResNet', depth=18))\n")
    result = evaluate(
        'random', '--backbone-config', config, '--data', 'digits', '--protocols', 'finetune', 'semi',
        '--work-dir', tmp_path, '--cfg-options', *training('finetune'), *training('semi'),
        'finetune.train_dataloader.dataset.dataset.indices=128', 'semi.train_cfg.val_interval=1',
    )  # fmt: skip
    assert result.returncode == 0, result.stderr[-3000:]
    rows = stored(tmp_path)
    assert [Path(row['config']['path']).stem for row in rows] == ['resnet_digits'] * 2
    assert all(0 < row['metrics']['accuracy/top1'] <= 100 for row in rows)


def test_one_failure_does_not_stop_the_others(checkpoint: Path, tmp_path: Path) -> None:
    result = evaluate(
        checkpoint, '--data', 'digits', '--protocols', 'linear', 'knn', '--work-dir', tmp_path,
        '--cfg-options', *KNN, *training('linear'),
        'linear.train_dataloader.batch_size=5000', 'linear.auto_scale_lr.base_batch_size=5000',
    )  # fmt: skip
    assert result.returncode == 1
    (line,) = error_lines(result.stderr)
    assert line.startswith('error: linear on digits failed: ')
    assert 'Traceback' not in result.stderr
    assert [row['protocol']['name'] for row in stored(tmp_path)] == ['knn']


def test_two_processes_give_what_one_gives(checkpoint: Path, tmp_path: Path) -> None:
    arguments = (checkpoint, '--data', 'digits', '--protocols', 'knn', 'linear_fast', '--cfg-options', *KNN)
    workers = ('linear_fast.test_dataloader.num_workers=0', 'linear_fast.test_cfg.bank_dataloader.num_workers=0')
    assert evaluate(*arguments, *workers, '--work-dir', tmp_path / 'one').returncode == 0
    launch = ('-m', 'torch.distributed.run', '--standalone', '--nproc_per_node', 2, 'tools/evaluate.py')
    result = run(
        *launch, *arguments, *workers, '--work-dir', tmp_path / 'two', '--launcher', 'pytorch', timeout=300
    )  # fmt: skip
    assert result.returncode == 0, result.stderr[-3000:]
    one, two = stored(tmp_path / 'one'), stored(tmp_path / 'two')
    assert [row['metrics'] for row in one] == [row['metrics'] for row in two]


def test_what_cannot_work_is_said_before_anything_starts(checkpoint: Path, tmp_path: Path) -> None:
    out = ('--work-dir', tmp_path / 'out')
    line = refusal(checkpoint, '--data', 'cifar10', '--protocols', 'knn', '--data-root', tmp_path / 'none', *out)
    assert re.search(r"the data folder '.*none' .* does not exist", line)
    other = ('--backbone-config', 'configs/patchmix/vit-s2_cifar10.py')
    line = refusal(checkpoint, '--data', 'digits', '--protocols', 'knn', 'linear', *other, *out)
    assert 'does not fit the backbone' in line
    assert not (tmp_path / 'out').exists()


def test_checkpoints_that_do_not_fit(checkpoint: Path, tmp_path: Path) -> None:
    common = ('--data', 'digits', '--protocols', 'knn', '--work-dir', tmp_path / 'out')
    assert 'there is no checkpoint file' in refusal(tmp_path / 'missing.pth', *common)
    torch.save({'weight': torch.zeros(2)}, tmp_path / 'bare.pth')
    assert 'say by --backbone-config' in refusal(tmp_path / 'bare.pth', *common)
    content = torch.load(checkpoint, map_location='cpu', weights_only=True)
    content['state_dict'] = {k: v for k, v in content['state_dict'].items() if not k.startswith('target.')}
    torch.save(content, tmp_path / 'no_target.pth')
    assert 'has the encoder online only' in refusal(tmp_path / 'no_target.pth', '--encoder', 'target', *common)
    (tmp_path / 'out').mkdir()
    (tmp_path / 'out/results.json').write_text('{}x')
    assert 'holds no results' in refusal(checkpoint, *common)


def test_the_protocol_of_the_page_runs(tmp_path: Path) -> None:
    page = (ROOT / 'docs/evaluation.md').read_text()
    for name, text in re.findall(r'```python\n# (\w+\.py)\n(.*?)```', page, re.DOTALL):
        (tmp_path / name).write_text(text.replace("'configs/", f"'{ROOT}/configs/"))
    arguments = ('random', '--data', 'digits', '--protocols', 'knn', '--config', tmp_path / 'centroid_digits.py')
    result = evaluate(*arguments, '--work-dir', tmp_path / 'out', '--cfg-options', *KNN)
    assert result.returncode == 0, result.stderr[-3000:]
    (row,) = stored(tmp_path / 'out')
    assert row['metrics'].keys() == {'centroid_top1'} and 10 < row['metrics']['centroid_top1'] < 100
    assert row['config']['path'] == str(tmp_path / 'centroid_digits.py')
