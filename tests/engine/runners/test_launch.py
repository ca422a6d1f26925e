"""From the command line to a Runner: what is refused, and in which words."""

from pathlib import Path

import pytest
import torch
from engine.tiny_runs import run_config, trained
from mmengine.config import Config

from mixcl.engine.runners.command_options import use_mixed_precision
from mixcl.engine.runners.launch import (
    _adapt_to_machine,
    build_runner,
    config_name,
    read_config,
    use_launcher,
)
from mixcl.errors import UserError

DIGITS = 'configs/patchmix/vit-xs4_digits.py'
FOLDER = 'configs/patchmix/vit-s16_folder.py'


@pytest.fixture(autouse=True)
def no_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, 'is_available', lambda: False)


def write(folder: Path, text: str) -> Path:
    path = folder / 'config.py'
    path.write_text(text)
    return path


def test_a_missing_config() -> None:
    with pytest.raises(UserError, match=r'no config file configs/patchmix/vit-s61\.py'):
        read_config('configs/patchmix/vit-s61.py')


@pytest.mark.parametrize(
    ('text', 'message'),
    [
        ('model = dict(', r'config\.py cannot be read: SyntaxError'),
        ('value = 1 / 0', r'config\.py cannot be read: ZeroDivisionError'),
    ],
)
def test_a_config_that_is_no_config(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(UserError, match=message) as raised:
        read_config(write(tmp_path, text))
    assert '\n' not in str(raised.value)


@pytest.mark.parametrize(
    ('overrides', 'message'),
    [
        ({'model.mixer.num_mixes': 2}, "'num_mixes'.*did you mean 'num_mix'"),
        ({'modle.mixer.num_mix': 2}, "no 'modle'; did you mean 'model'"),
        ({'data_root': '/data'}, "no 'data_root'; pass --data-root DIR"),
        ({'crop.scale': 8}, "'crop' is a variable that the config has already used"),
    ],
)
def test_an_override_that_cannot_work(overrides: dict, message: str) -> None:
    with pytest.raises(UserError, match=message):
        read_config(FOLDER, overrides)


def test_overrides_and_data_root_reach_the_config() -> None:
    cfg = read_config(FOLDER, {'model.mixer.num_mix': 2}, '/data/images')
    assert cfg.model.mixer.num_mix == 2
    assert cfg.train_dataloader.dataset.dataset.data_root == '/data/images'
    with pytest.raises(UserError, match='no data set of this config reads a folder'):
        read_config(DIGITS, data_root='/data/images')


def test_configs_carry_their_name_into_checkpoints(tmp_path: Path) -> None:
    assert config_name(FOLDER) == 'patchmix/vit-s16_folder'
    assert config_name(tmp_path / 'my.config.py') == 'my.config'
    read_config(DIGITS).dump(tmp_path / 'copy.py')
    assert read_config(tmp_path / 'copy.py').config_name == 'patchmix/vit-xs4_digits'


def test_mixed_precision_replaces_a_plain_wrapper_only() -> None:
    cfg = read_config(DIGITS)
    for _ in range(2):
        use_mixed_precision(cfg)
        assert cfg.optim_wrapper.type == 'mixcl.BFloat16OptimWrapper'
    cfg.optim_wrapper.type = 'AmpOptimWrapper'
    with pytest.raises(UserError, match=r"optim_wrapper\.type='AmpOptimWrapper'; leave out --amp"):
        use_mixed_precision(cfg)


def test_launchers_that_cannot_work(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv('RANK', raising=False)
    with pytest.raises(UserError, match='processes started by torchrun'):
        use_launcher(Config(), 'pytorch')
    with pytest.raises(UserError, match='--launcher slurm needs a GPU on every node'):
        use_launcher(Config(), 'slurm')


def test_a_checkpoint_that_is_missing_or_of_another_architecture(tmp_path: Path) -> None:
    with pytest.raises(UserError, match='no checkpoint file'):
        build_runner(run_config(tmp_path, load_from=str(tmp_path / 'epoch_9.pth')))
    trained(run_config(tmp_path, train_cfg__max_epochs=1))
    wider = run_config(tmp_path / 'wider', load_from=str(tmp_path / 'epoch_1.pth'), model__neck__hidden_channels=32)
    with pytest.raises(UserError, match=r'another architecture.*neck\.fc0\.weight is \(24, 16\) .* and \(32, 16\)'):
        build_runner(wider)


def test_resuming_an_empty_work_dir_starts_anew(tmp_path: Path) -> None:
    assert trained(run_config(tmp_path, resume=True, train_cfg__max_epochs=1)).epoch == 1


@pytest.mark.parametrize(
    ('overrides', 'fused'),
    [
        ({}, True),
        (dict(optim_wrapper__type='AmpOptimWrapper'), None),  # hooks would clip gradients that are still scaled
        (dict(optim_wrapper__optimizer__type='MoCoLARS'), None),
    ],
)
def test_a_gpu_gets_a_fused_optimizer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, overrides: dict, fused: bool | None
) -> None:
    monkeypatch.setattr(torch.cuda, 'is_available', lambda: True)
    cfg = run_config(tmp_path, **overrides)
    _adapt_to_machine(cfg)
    assert cfg.optim_wrapper.optimizer.get('fused') is fused


def test_data_folders_are_checked_before_anything_is_built(tmp_path: Path) -> None:
    folder = tmp_path / 'images'
    cfg = read_config(FOLDER, data_root=str(folder))
    cfg.work_dir = str(tmp_path / 'run')
    with pytest.raises(UserError, match=r"images' .* does not exist"):
        build_runner(cfg)
    assert not (tmp_path / 'run').exists()
