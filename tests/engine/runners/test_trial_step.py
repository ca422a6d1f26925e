"""What does not fit is refused before data are read, by ``check-config`` and by training alike."""

import numpy as np
import pytest
import torch
from configuration.all_configs import CONFIGS

from mixcl.engine.runners import trial_step
from mixcl.engine.runners.dry_run import check_start
from mixcl.engine.runners.launch import build_runner
from mixcl.engine.runners.trial_step import synthetic_batch, try_step
from mixcl.errors import UserError
from mixcl.recipes.building import build_model
from mixcl.recipes.prepared import prepared

WRONG = [
    ('mocov3/vit-xs4_digits', {'model.neck.in_channels': 100}, 'model.neck.in_channels=100'),
    ('mae/vit-xs4_digits', {'model.neck.num_patches': 100}, 'num_patches=100, but from model.backbone follows 16'),
    ('mocov3/vit-xs4_digits', {'batch': 1}, 'more than 1 value .*batch is too small'),
]


@pytest.mark.parametrize(('name', 'options', 'said'), WRONG)
def test_parts_that_do_not_fit(name: str, options: dict, said: str) -> None:
    cfg = prepared(CONFIGS[name], cfg_options=options)
    for start in (check_start, build_runner):
        with pytest.raises(UserError, match=said):
            start(cfg)


@pytest.mark.parametrize('name', [name for name in CONFIGS if name.endswith('_digits') and 'evaluation' not in name])
def test_recipes_fit_and_no_random_number_is_used_up(name: str) -> None:
    cfg = prepared(CONFIGS[name])
    model = build_model(cfg)
    before = torch.get_rng_state(), np.random.get_state()[1].tolist()
    try_step(cfg, model, processes=1)
    assert torch.equal(torch.get_rng_state(), before[0]) and np.random.get_state()[1].tolist() == before[1]


def test_settings_of_workers_do_not_matter() -> None:
    wanted = dict(num_workers=2, prefetch_factor=4, timeout=60, multiprocessing_context='spawn')
    cfg = prepared(
        CONFIGS['mocov3/vit-xs4_digits'], cfg_options={f'train_dataloader.{key}': wanted[key] for key in wanted}
    )
    try_step(cfg, build_model(cfg), processes=1)


def test_groups_of_any_size_take_the_fewest_images(monkeypatch: pytest.MonkeyPatch) -> None:
    cfg = prepared(CONFIGS['mocov3/vit-xs4_digits'], cfg_options={'batch': 96})
    for groups, expected in ((12, [4, 12]), (48, [4])):  # 48 images would take long
        model, made = build_model(cfg), []

        def check(crops: list, size: int, processes: int, groups: int = groups) -> None:
            if size % groups:
                raise UserError('groups')

        def noted(*found: object, made: list = made) -> dict:
            made.append(found[2])
            return synthetic_batch(*found)

        model.check_batch = check
        monkeypatch.setattr(trial_step, 'synthetic_batch', noted)
        try_step(cfg, model, processes=1)
        assert made == expected


def test_mixtures_of_halves_are_a_batch() -> None:
    halves = {
        'model.mixer': dict(type='Mixup', pairing='halves'),
        'model.streams': dict(mix1=dict(mix='view1')),
        'model.terms': [('view1', 'view2', 1.0), ('mix1', 'view2', 1.0)],
    }
    cfg = prepared(CONFIGS['mocov3/vit-xs4_digits'], cfg_options=halves)
    try_step(cfg, build_model(cfg), processes=1)


def test_several_processes_may_have_one_image_each() -> None:
    cfg = prepared(CONFIGS['mocov3/vit-xs4_digits'], cfg_options={'batch': 1})
    try_step(cfg, build_model(cfg), processes=2)
