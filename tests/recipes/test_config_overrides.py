"""Overrides that would change nothing, or that mmengine cannot merge, are refused."""

import copy

import pytest
from configuration.all_configs import read
from mmengine.config import Config

from mixcl.errors import UserError
from mixcl.recipes.prepared import prepared
from mixcl.recipes.sections_only import override

ALLOWED = [
    {'model.backbone.init_cfg.type': 'Pretrained', 'model.backbone.init_cfg.checkpoint': 'x.pth'},
    {'param_scheduler.0.end': 3},
    {'param_scheduler.0': {'gamma': 0.2}},
    {'val_dataloader.dataset.pipeline.0.scale': 40},
    {'default_hooks.ema.type': 'EMAHook'},
    {'optim_wrapper.clip_grad._delete_': True, 'optim_wrapper.clip_grad.max_norm': 1.0},
    {'optim_wrapper.optimizer.typ': 'SGD'},
    {'work_dir': 'x'},
]
REFUSED = {
    'modle.backbone.arch': "the config has no 'modle'; did you mean 'model'",
    'data_root': "the config has no 'data_root'; pass `data_root=DIR`",
    'model.backbone.type.depth': 'type is a dict in the child config but is of type .*str',
    'optim_wrapper.optimizer.betas.0': 'betas is a dict .* of type .*tuple.* set as a whole',
    'load_from.x': r'load_from is a dict .* with NAME\._delete_=True',
    'param_scheduler.2.end': 'Index 2 exceeds the length of list',
    'param_scheduler.-1.end': 'a list of values is set as a whole',
    'param_scheduler.0': 'a list of values is set as a whole',
}


def test_what_is_allowed_can_be_merged() -> None:
    for overrides in ALLOWED:
        cfg = copy.deepcopy(read('patchmix/vit-xs4_digits'))
        override(cfg, overrides)


def test_overrides_can_be_used_again() -> None:
    asked = {'optimizer': dict(type='SGD', lr=0.1, _delete_=True)}
    first, again = (prepared('patchmix/vit-xs4_digits', cfg_options=asked).optim_wrapper for _ in range(2))
    assert first == again and 'betas' not in again.optimizer


@pytest.mark.parametrize('key', REFUSED)
def test_what_cannot_be_merged_or_has_no_effect_is_refused(key: str) -> None:
    cfg = read('patchmix/vit-xs4_digits')
    before = copy.deepcopy(cfg.to_dict())
    with pytest.raises(UserError, match=f'`cfg_options` {key}.*{REFUSED[key]}'):
        override(cfg, {key: 5})
    assert cfg.to_dict() == before


def test_the_variable_of_the_data_points_to_the_option() -> None:
    with pytest.raises(UserError, match=r'has no effect.* or pass `data_root=DIR`'):
        override(Config(dict(data_root='x')), {'data_root': '/x'})
