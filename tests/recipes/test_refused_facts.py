"""What a config or ``--cfg-options`` cannot say is refused with the name of the fact."""

import pytest
from configuration.all_configs import CONFIGS

from mixcl.errors import UserError
from mixcl.recipes.prepared import prepared

REFUSED = [
    ({'train_dataloader.batch_size': 8}, 'train_dataloader.batch_size=8: .* set batch instead'),
    ({'train_cfg.max_epochs': 8}, 'train_cfg.max_epochs=8: .* set schedule.epochs instead'),
    ({'optim_wrapper.optimizer.lr': 1e-3}, 'set optimizer instead'),
    ({'schedule.epoch': 8}, "schedule has no 'epoch'; did you mean 'epochs'"),
    ({'shedule.epochs': 8}, "no fact and no section 'shedule'; did you mean 'schedule'"),
    ({'views.view1.crops': 1, 'views.view1.step': []}, "views.view1 has no 'step'; did you mean 'steps'"),
    ({'views.view1.steps': ['flip']}, 'views.view1.steps has no effect: data.views.all.steps, for these images, wins'),
    ({'data.views.all.steps': ['blurr']}, "names 'blurr', which is none of the steps; did you mean 'blur'"),
    ({'data': 3}, 'data=3 must be a dict'),
    ({'batch': 0}, '^batch=0 must be at least 1'),
    ({'at_once': 0}, '^at_once=0 must be at least 1'),
    ({'batch': 64.0}, '^batch=64.0 must be a whole number'),
    ({'schedule.epochs': -1}, '^schedule.epochs=-1 must be at least 1'),
    ({'optimizer.lr': True}, '^optimizer.lr=True must be a number'),
    ({'optimizer.lr': float('nan')}, '^optimizer.lr=nan must be at least 0, and finite'),
    ({'data': 'cifar1000'}, "data='cifar1000': there is no .*; there are cifar10, cifar100"),
]


@pytest.mark.parametrize(('options', 'said'), REFUSED, ids=lambda value: str(value)[:40])
def test_what_no_recipe_may_say(options: dict, said: str) -> None:
    with pytest.raises(UserError, match=said):
        prepared(CONFIGS['patchmix/vit-xs4_digits'], cfg_options=options)


def test_processes_that_cannot_share_the_batch() -> None:
    with pytest.raises(UserError, match=r'5 processes cannot share batch=64 evenly: .* set batch=60'):
        prepared(CONFIGS['patchmix/vit-xs4_digits'], processes=5)
