"""tools/print_config.py: the whole config, and where it comes from."""

from pathlib import Path

import pytest
from configuration.all_configs import FOLDER
from mmengine.config import Config
from tools.in_process import run_here

from mixcl.recipes.difference import origins
from mixcl.recipes.prepared import prepared


def test_values_come_from_the_files_that_say_them() -> None:
    path = FOLDER / 'patchmix/vit-t2_cifar100_oto.py'
    options = {'model.mixer.num_mix': 2, 'data.workers': 3, 'train_dataloader.drop_last': False}
    cfg = prepared(path, cfg_options=options, data_root='/data')
    lines = origins(path, cfg.to_dict(), [*options, 'data.images.data_root'])
    found = {line.partition(' = ')[0]: line.rpartition('  # ')[2] for line in lines}
    assert found['optimizer.lr'] == found['schedule.warmup'] == 'vit-t2_cifar10.py'
    assert found['model.terms'] == 'vit-t2_cifar100_oto.py'
    assert found['optimizer.betas'] == '../_base_/methods/patchmix.py'
    assert found['data.images.type'] == '../_base_/data/cifar100.py'  # data = 'cifar100'
    assert found['data.size'] == '../_base_/data/cifar10.py'
    assert found['default_hooks.timer.type'] == '../_base_/default_runtime.py'
    made = ('train_dataloader.dataset.dataset.data_root', 'optim_wrapper.optimizer.lr', 'model.backbone.img_size')
    assert {found[name] for name in made} == {'follows from facts'}
    for name in ('model.mixer.num_mix', 'data.workers', 'data.images.data_root', 'train_dataloader.drop_last'):
        assert found[name] == 'command line'
    assert not any(name.startswith('recipe.') for name in found)


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
