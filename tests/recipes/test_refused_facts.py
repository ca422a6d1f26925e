"""What a config or ``--cfg-options`` cannot say is refused with the name of the fact."""

from pathlib import Path

import pytest
from configuration.all_configs import CONFIGS

from mixcl.errors import UserError
from mixcl.recipes.prepared import prepared

REFUSED = [
    ({'train_dataloader.batch_size': 8}, 'train_dataloader.batch_size=8: .* set batch instead'),
    ({'train_cfg.max_epochs': 8}, 'train_cfg.max_epochs=8: .* set schedule.epochs instead'),
    ({'optim_wrapper.optimizer.lr': 1e-3}, 'set optimizer .its lr'),
    ({'schedule.epoch': 8}, "schedule has no 'epoch'; did you mean 'epochs'"),
    ({'shedule.epochs': 8}, "no fact and no section 'shedule'; did you mean 'schedule'"),
    ({'views.view1.crops': 1, 'views.view1.step': []}, "views.view1 has no 'step'; did you mean 'steps'"),
    ({'views.view1.steps': ['flip']}, 'views.view1.steps has no effect: data.views.all.steps, for these images, wins'),
    ({'data.views.all.steps': ['blurr']}, "names 'blurr', which is none of the steps; did you mean 'blur'"),
    ({'data': 3}, 'data=3 must be a dict'),
    ({'batch': 0}, '^batch=0 must be a whole number of at least 1'),
    ({'at_once': 0}, '^at_once=0 must be a whole number of at least 1'),
    ({'batch': 64.0}, '^batch=64.0 must be a whole number'),
    ({'schedule.epochs': -1}, '^schedule.epochs=-1 must be a whole number of at least 1'),
    ({'optimizer.lr': True}, '^optimizer.lr=True must be a number'),
    ({'optimizer.lr': float('nan')}, '^optimizer.lr=nan must be a finite number of at least 0'),
    ({'views.view1': {'crop': (0.9, 1.0)}}, 'views.view1.crop has no effect: data.views.all.crop'),
    ({'views.view1': 3}, 'views.view1=3 must be a dict'),
    ({'views.view1': None, 'views.view2': None}, 'views names no view'),
    ({'data.read': [{'tipe': 'LoadImage'}]}, "data.read has .*'tipe'.*, which is no dict with a type"),
    ({'optimizer.weight_decay': [0, 0.4]}, r'optimizer.weight_decay=\[0, 0.4\] must be a number, or two above 0'),
    ({'optimizer.type': 'SGD'}, "^config: optimizer has an unknown key 'betas' for .*; .* optimizer._delete_=True"),
    ({'model.backbone.type': 'ContrastivViT'}, "model.backbone has type='ContrastivViT', .* 'ContrastiveViT'"),
    ({'data.share': 2}, 'data.share=2 must be a number above 0 and at most 1'),
    ({'batch': 262, 'accumulate': True}, 'batch=262 .* but of 2: set batch=256'),
    ({'data': 'cifar1000'}, "data='cifar1000': there is no .*; there are cifar10, cifar100"),
]


@pytest.mark.parametrize(('options', 'said'), REFUSED, ids=lambda value: str(value)[:40])
def test_what_no_recipe_may_say(options: dict, said: str) -> None:
    with pytest.raises(UserError, match=said):
        prepared(CONFIGS['patchmix/vit-xs4_digits'], cfg_options=options)


def test_processes_that_cannot_share_the_batch() -> None:
    with pytest.raises(UserError, match=r'5 processes cannot share batch=64 evenly: .* set batch=60'):
        prepared(CONFIGS['patchmix/vit-xs4_digits'], processes=5)


def test_what_a_file_misspells(tmp_path: Path) -> None:
    for line, said in (
        ('optim_wraper = dict(clip_grad=None)', "optim_wraper is read by nothing; did you mean 'optim_wrapper'"),
        ('shedule = dict(epochs=3)', "shedule is read by nothing; did you mean 'schedule'"),
        ("data = './mine.py'", r'says nothing about data|there is no'),
    ):
        (tmp_path / 'own.py').write_text(f"_base_ = 'mixcl::patchmix/vit-xs4_digits.py'\n{line}\n")
        with pytest.raises(UserError, match=said):
            prepared(tmp_path / 'own.py')
    (tmp_path / 'method.py').write_text("_base_ = 'mixcl::_base_/methods/patchmix.py'\n")
    with pytest.raises(UserError, match='method says facts, but inherits no data'):
        prepared(tmp_path / 'method.py')


def test_a_data_set_of_ones_own_beside_the_config(tmp_path: Path) -> None:
    """Its steps and measures come with it, and what is said about the data one by one counts in any order."""
    (tmp_path / 'mine.py').write_text(
        "_base_ = 'mixcl::_base_/data/digits.py'\nsteps = dict(mirror=dict(type='RandomFlip', prob=1.0))\n"
        "data = dict(size=20, views=dict(all=dict(steps=['mirror']), view2=dict(steps=['mirror'])))\n"
        'measure = dict(every=3)\n'
    )
    (tmp_path / 'own.py').write_text("_base_ = 'mixcl::patchmix/vit-xs4_digits.py'\ndata = './mine.py'\n")
    for options in ({'data.workers': 3, 'data': 'cifar100'}, {'data': 'cifar100', 'data.workers': 3}):
        cfg = prepared(tmp_path / 'own.py', cfg_options=options)
        assert (cfg.train_dataloader.num_workers, cfg.model.backbone.img_size) == (3, 32)
    cfg = prepared(tmp_path / 'own.py')
    _, views, _ = cfg.train_dataloader.dataset.dataset.pipeline
    assert [step['type'] for step in views.transforms[0]] == ['mmpretrain.RandomResizedCrop', 'RandomFlip']
    assert (cfg.train_cfg.val_interval, cfg.model.backbone.img_size) == (3, 20)


def test_hooks_of_a_method_stay_beside_ones_own_and_may_go() -> None:
    def hooks(**options: object) -> list[str]:
        return [hook['type'] for hook in prepared(CONFIGS['dino/vit-xs4_digits'], cfg_options=options).custom_hooks]

    method = ['FrozenPrototypesHook', 'ParameterClipHook']
    assert hooks(custom_hooks=[dict(type='BannerHook')]) == ['BannerHook', *method]
    assert hooks(**{'hooks.clip': None})[-1] == method[0]
    with pytest.raises(UserError, match=r"^hooks.clpi={'momentum': 0.5}: .* no hook 'clpi',.*; did you mean 'clip'\?$"):
        hooks(**{'hooks.clpi.momentum': 0.5})
