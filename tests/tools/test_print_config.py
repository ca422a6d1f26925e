"""tools/print_config.py: the whole config, and where it comes from."""

from pathlib import Path

import pytest
from configuration.all_configs import FOLDER
from mmengine.config import Config
from tools.in_process import run_here

from mixcl.experiments.origin import origins
from mixcl.experiments.prepared import prepared


def test_values_come_from_the_files_that_say_them() -> None:
    path = FOLDER / 'patchmix/vit-t2_cifar100_oto.py'
    cfg = prepared(path, cfg_options={'model.mixer.num_mix': 2}, data_root='/data')
    found = {line.partition(' = ')[0]: line.rpartition('  # ')[2] for line in origins(path, cfg.to_dict())}
    assert found['model.terms'] == 'vit-t2_cifar100_oto.py'
    assert found['train_dataloader.dataset.dataset.type'] == 'vit-t2_cifar100_oto.py'
    assert found['optim_wrapper.optimizer.lr'] == found['param_scheduler'] == 'vit-t2_cifar10.py'
    assert found['optim_wrapper.optimizer.betas'] == '../_base_/methods/patchmix.py'
    assert found['val_dataloader.dataset.split'] == '../_base_/datasets/cifar10.py'
    assert found['val_dataloader.batch_size'] == '../_base_/pretraining.py'
    assert found['model.mixer.num_mix'] == found['val_dataloader.dataset.data_root'] == 'command line'


def test_a_saved_config_is_the_same(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    path, options = 'configs/patchmix/vit-xs4_digits.py', ['schedule.epochs=3']
    assert run_here('tools/print_config.py', path, '--origin', options=options) == 0
    printed = capsys.readouterr().out
    assert 'schedule.epochs = 3  # command line' in printed
    assert "default_scope = 'mixcl'  # ../_base_/default_runtime.py" in printed
    assert run_here('tools/print_config.py', path, options=options) == 0
    saved = tmp_path / 'saved.py'
    saved.write_text(capsys.readouterr().out)
    found = Config.fromfile(saved).to_dict()
    assert found.pop('experiment_name').startswith('here_')
    assert found == prepared(path, cfg_options={'schedule.epochs': 3}).to_dict()
