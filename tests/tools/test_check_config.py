"""tools/check_config.py."""

import re
from pathlib import Path

import pytest
from evaluation.composed import written
from tools.in_process import refusal, run_here

TOOL = 'tools/check_config.py'
DIGITS = 'configs/patchmix/vit-xs4_digits.py'
MOCO = 'configs/mocov2/r50_in1k.py'


def test_a_sound_config(capfd: pytest.CaptureFixture) -> None:
    assert run_here(TOOL, DIGITS, '--processes', 2, options=['schedule.epochs=3']) == 0
    output = capfd.readouterr().out
    assert output.splitlines()[-1] == 'a run could start'
    assert 'on each of 2 process(es)' in output
    assert 'note: param_scheduler[0] (WarmupCosineLR) has warmup=' in output


def test_configs_of_other_kinds(capfd: pytest.CaptureFixture, tmp_path: Path) -> None:
    for path in (written(tmp_path, 'finetune'), written(tmp_path, 'linear'), 'configs/byol/r50_in1k.py'):
        assert run_here(TOOL, path, '--no-data') == 0
        assert capfd.readouterr().out.splitlines()[-1] == 'a run could start'
    assert run_here(TOOL, 'configs/byol/r50_in1k.py', '--no-data', '--processes', 8) == 0
    assert capfd.readouterr().out.splitlines()[-3].startswith('global batch 4096')


def test_one_sentence(capfd: pytest.CaptureFixture) -> None:
    for arguments, option, message in (
        (['configs/patchmix/vit-s16_in1k.py'], None, 'does not exist.*; --no-data checks'),
        ([DIGITS], 'optimizer.lr=-1', r'optimizer\.lr=-1 must be a finite number of at least 0'),
        ([MOCO, '--no-data', '--processes', 2**16], 'batch=131072', 'fewer than the .* keys of one step'),
        ([DIGITS], 'batch=2', 'cannot be mixed from the 2 images'),
        ([DIGITS], 'model.streams.mix2.keep=1.5', r'mix2 has keep=1\.5, but the share .* lies in \(0, 1\]'),
        (['configs/byol/r50_in1k.py', '--no-data'], 'model.streams.view1.keep=0.5', 'ResNet cannot drop patches; '),
        ([DIGITS], 'param_scheduler.0.by_epoch=False', 'Only epoch-based parameter scheduler'),
        ([DIGITS], "activation_checkpointing=['backbone.layer']", "names 'backbone.layer', which"),
        ([DIGITS], "custom_hooks=[dict(type='BannerHook',x=1)]", '--cfg-options .* cannot be read'),
        ([DIGITS], 'train_dataloader._delete_=True', 'train_dataloader has no dataset; name one'),
        ([DIGITS], 'custom_imports.imports=no_such_module', "No module named 'no_such_module'"),
    ):
        line = refusal(capfd, TOOL, *arguments, options=[option] if option else [])
        assert re.search(message, line), line


def test_shuffled_groups_are_those_of_one_process_only() -> None:
    """Batches of 12 do not fill 8 groups; with several processes, each is a group."""
    small = ['batch=12']
    assert run_here(TOOL, MOCO, '--no-data', options=small) == 2
    assert run_here(TOOL, MOCO, '--no-data', '--processes', 2, options=small) == 0
