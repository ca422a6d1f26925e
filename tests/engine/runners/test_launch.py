"""Refusals on the way from the command line to a Runner, and their words."""

import copy
from pathlib import Path

import pytest
import torch
from engine.tiny_runs import run_config, trained
from mmengine.config import Config
from mmengine.runner import Runner
from weights.marks import marker

from mixcl.engine.runners import processes
from mixcl.engine.runners.launch import build_runner
from mixcl.engine.runners.processes import join_processes
from mixcl.engine.runners.quiet_runner import QuietRunner
from mixcl.errors import UserError
from mixcl.recipes.prepared import prepared
from mixcl.recipes.run_options import use_launcher, use_mixed_precision
from mixcl.shipped import config_name

DIGITS = 'configs/patchmix/vit-xs4_digits.py'
FOLDER = 'configs/patchmix/vit-s16_folder.py'


@pytest.fixture(autouse=True)
def no_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, 'is_available', lambda: False)


def test_what_is_no_config_and_overrides_that_cannot_work(tmp_path: Path) -> None:
    """One case is an override; tests/recipes/test_config_overrides.py has the others."""
    path = tmp_path / 'config.py'
    for text, overrides, message in (
        (None, {}, r'no config file .*config\.py'),
        ('model = dict(', {}, r'config\.py cannot be read: SyntaxError'),
        ('value = 1 / 0', {}, r'config\.py cannot be read: ZeroDivisionError'),
        ('import sys; sys.exit()', {}, r'config\.py cannot be read: SystemExit'),
        ('raise GeneratorExit', {}, r'config\.py cannot be read: GeneratorExit'),
        (f"_base_ = '{Path(FOLDER).resolve()}'", {'model.mixer.num_mixes': 2}, "did you mean 'num_mix'"),
    ):
        if text is not None:
            path.write_text(text)
        with pytest.raises(UserError, match=message) as raised:
            prepared(path, cfg_options=overrides)
        assert '\n' not in str(raised.value)


def test_yaml_runs_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ran = marker(tmp_path, monkeypatch)
    (tmp_path / 'config.yaml').write_text('a: !!python/object/apply:evil.run []')
    with pytest.raises(UserError, match=r'config\.yaml is no \.py file; write it in Python'):
        prepared(tmp_path / 'config.yaml')
    assert not ran.exists()


def test_a_config_that_is_missing_has_neighbours() -> None:
    for asked, offered in (
        ('configs/patchmix/vit_s16_in1k.py', r'did you mean configs/patchmix/vit-s16_in1k\.py or configs/'),
        ('patchmix/vit-s16-in1k', r'did you mean patchmix/vit-s16_in1k or \w+/vit-'),
    ):
        with pytest.raises(UserError, match=offered) as raised:
            prepared(asked)
        assert str(raised.value).count(' or ') <= 2


def test_a_config_of_the_repository_is_named_elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UserError, match=r'no config file configs/\S+ here; .* mixcl is patchmix/vit-s16_in1k$'):
        prepared('configs/patchmix/vit-s16_in1k.py')
    for base, name in (
        ('configs/patchmix/vit-s16_in1k', 'patchmix/vit-s16_in1k'),
        ('../_base_/runtime', '_base_/runtime'),
    ):
        Path('mine.py').write_text(f"_base_ = ['{base}.py']")
        with pytest.raises(UserError, match=rf"'\S+{base}\.py'; .* comes with mixcl, write 'mixcl::{name}\.py'$"):
            prepared('mine.py')
    Path('mine.py').write_text("_base_ = 'mixcl::patchmix/vit-s16_in1k.py'")
    assert prepared('mine.py').model.mixer.num_mix == 3


def test_configs_carry_their_name_into_checkpoints(tmp_path: Path) -> None:
    assert config_name(FOLDER) == 'patchmix/vit-s16_folder'
    assert config_name(tmp_path / 'my.config.py') == 'my.config'
    prepared(DIGITS).dump(tmp_path / 'copy.py')
    assert prepared(tmp_path / 'copy.py').config_name == 'patchmix/vit-xs4_digits'


def test_mixed_precision_replaces_a_plain_wrapper_only() -> None:
    cfg = copy.deepcopy(prepared(DIGITS))
    for _ in range(2):
        use_mixed_precision(cfg)
        assert cfg.optim_wrapper.type == 'mixcl.BFloat16OptimWrapper'
    cfg.optim_wrapper.type = 'AmpOptimWrapper'
    with pytest.raises(UserError, match=r"optim_wrapper\.type='AmpOptimWrapper'; leave out `amp`"):
        use_mixed_precision(cfg)


def test_launchers_that_cannot_work(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv('RANK', raising=False)
    with pytest.raises(UserError, match='processes started by torchrun'):
        use_launcher(Config(), 'pytorch')
    with pytest.raises(UserError, match='`launcher=slurm` needs a GPU on every node'):
        use_launcher(Config(), 'slurm')


def test_processes_with_gpus_join_before_one_of_them_takes_the_work_dir(monkeypatch: pytest.MonkeyPatch) -> None:
    joined = []
    monkeypatch.setattr(torch.cuda, 'is_available', lambda: True)
    monkeypatch.setattr(processes, 'set_multi_processing', lambda **_: None)
    monkeypatch.setattr(processes, 'init_dist', lambda launcher, **settings: joined.append((launcher, settings)))
    join_processes(Config(dict(launcher='slurm', env_cfg=dict(dist_cfg=dict(backend='nccl')))))
    assert joined == [('slurm', dict(backend='nccl'))]


def test_a_checkpoint_that_is_missing_or_of_another_architecture(tmp_path: Path) -> None:
    with pytest.raises(UserError, match='no checkpoint file'):
        build_runner(run_config(tmp_path, load_from=str(tmp_path / 'epoch_9.pth')))
    trained(run_config(tmp_path, train_cfg__max_epochs=1))
    wider = run_config(tmp_path / 'wider', load_from=str(tmp_path / 'epoch_1.pth'), model__neck__hidden_channels=32)
    with pytest.raises(UserError, match=r'another architecture.*neck\.fc0\.weight is \(24, 16\) .* and \(32, 16\)'):
        build_runner(wider)


def test_an_optimizer_is_fused_where_torch_has_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    runner = build_runner(run_config(tmp_path))
    assert runner.optim_wrapper.optimizer.defaults['fused'] and 'fused' not in runner.cfg.optim_wrapper.optimizer
    monkeypatch.setattr(Runner, 'build_optim_wrapper', lambda self, settings: settings)
    for settings in (
        dict(type='AmpOptimWrapper', optimizer=dict(type='AdamW')),  # hooks would clip gradients that are still scaled
        dict(optimizer=dict(type='MoCoLARS')),
    ):
        assert QuietRunner.build_optim_wrapper(runner, settings) == settings
