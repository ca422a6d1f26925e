"""tools/check_config.py, run as a user runs it."""

import re
import runpy
import sys
from pathlib import Path

import pytest
from evaluation.composed import written
from tools.command import error_lines, run

TOOL = 'tools/check_config.py'
DIGITS = 'configs/patchmix/vit-xs4_digits.py'


def test_a_sound_config_and_what_it_changes() -> None:
    result = run(TOOL, DIGITS, '--cfg-options', 'model.mixer.num_mix=2', 'train_cfg.max_epochs=3')
    assert result.returncode == 0, result.stderr
    assert result.stdout.splitlines()[-1] == 'a run could start'
    assert 'model.mixer.num_mix: 3 -> 2' in result.stdout
    assert 'note: param_scheduler[0] (WarmupCosineLR) has warmup=' in result.stdout


def test_configs_of_other_kinds(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture, tmp_path: Path) -> None:
    for path in (written(tmp_path, 'finetune'), written(tmp_path, 'linear'), 'configs/byol/r50_in1k.py'):
        monkeypatch.setattr(sys, 'argv', [TOOL, str(path), '--no-data'])
        runpy.run_path(TOOL, run_name='__main__')
        assert capfd.readouterr().out.splitlines()[-1] == 'a run could start'


def test_another_base_and_several_processes() -> None:
    result = run(
        *(TOOL, 'configs/mixco/r18_tinyimagenet_mocov2.py', '--base', 'configs/mocov2/r18_tinyimagenet.py'),
        *('--no-data', '--processes', 3),
    )
    assert result.returncode == 0, result.stderr
    assert "+ model.mixer.type = 'Mixup'" in result.stdout
    assert 'on each of 3 process(es)' in result.stdout


@pytest.mark.parametrize(
    ('arguments', 'message'),
    [
        (['configs/patchmix/vit-s16_in1k.py'], 'does not exist'),
        ([DIGITS, '--cfg-options', 'model.backbone.arch.num_headss=4'], "did you mean 'num_heads'"),
        ([DIGITS, '--cfg-options', 'optim_wrapper.optimizer.lr=-1'], 'lr=-1 must be a number 0 or more'),
        ([DIGITS, '--cfg-options', "model.terms=[('view1','view3',1)]"], "unknown stream 'view3'"),
        (
            [DIGITS, '--cfg-options', 'model.backbone.arch.num_heads=5'],
            'embed_dims=96, which num_heads=5 does not divide',
        ),
        ([DIGITS, '--cfg-options', 'model.mixer.patch_size=0'], 'patch_size=0 must be'),
        (['configs/mocov2/r50_in1k.py', '--no-data', '--processes', 100_000], 'less than the .* of 100000 process'),
        ([DIGITS, '--cfg-options', 'model.mixer.patch_size=5'], '16x16 pixels cannot be cut into patches of 5x5'),
        ([DIGITS, '--cfg-options', 'train_dataloader.batch_size=2'], 'cannot be mixed from the 2 images'),
        ([DIGITS, '--cfg-options', 'model.backbone.img_size=24'], r'img_size is \(24, 24\)'),
        ([DIGITS, '--cfg-options', 'default_hooks.nonfinite.policy=skipp'], "policy must be one of .*not 'skipp'"),
        ([DIGITS, '--cfg-options', 'optim_wrapper.optimizer.betas=3'], 'optim_wrapper cannot be built: TypeError'),
        ([DIGITS, '--cfg-options', 'param_scheduler.0.by_epoch=False'], 'leave out convert_to_iter_based'),
        ([DIGITS, '--cfg-options', "activation_checkpointing=['backbone.layer']"], "names 'backbone.layer', which"),
        ([DIGITS, '--cfg-options', "custom_hooks=[dict(type='BannerHook',x=1)]"], '--cfg-options .* cannot be read'),
        ([DIGITS, '--cfg-options', 'lr'], '--cfg-options lr cannot be read'),
        ([DIGITS, '--processes', 0], '--processes must be at least 1'),
    ],
)
def test_one_sentence(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture, arguments: list, message: str
) -> None:
    monkeypatch.setattr(sys, 'argv', [TOOL, *map(str, arguments)])
    with pytest.raises(SystemExit) as exit_:
        runpy.run_path(TOOL, run_name='__main__')
    output, errors = capfd.readouterr()
    assert exit_.value.code == 2, output
    (line,) = error_lines(errors)
    assert re.search(message, line), line
    assert 'Traceback' not in errors


def test_shuffled_groups_are_those_of_one_process_only() -> None:
    """Batches of 12 in 8 groups; of several processes each is a group."""
    small = ('--no-data', '--cfg-options', 'train_dataloader.batch_size=12')
    assert run(TOOL, 'configs/mocov2/r50_in1k.py', *small).returncode == 2
    assert run(TOOL, 'configs/mocov2/r50_in1k.py', '--processes', 2, *small).returncode == 0
