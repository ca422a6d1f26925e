"""Runs that a trial run may remove."""

from pathlib import Path

import pytest

import mixcl
from mixcl.apis import training
from mixcl.recipes.prepared import Options


def test_a_trial_replaces_trials_in_its_own_folder_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: dict[str, Options] = {}
    monkeypatch.setattr(training, 'run', lambda cfg, options: asked.update({cfg.work_dir: options}))
    for options in (dict(), dict(work_dir='mine'), dict(cfg_options=dict(work_dir='named_smoke'))):
        mixcl.train('patchmix/vit-xs4_digits', smoke=True, **options)
    own = tmp_path / 'own.py'
    own.write_text("_base_ = 'mixcl::patchmix/vit-xs4_digits.py'\nwork_dir = 'the_run'\n")
    mixcl.train(own, smoke=True)
    replaced = {folder: options.overwrite for folder, options in asked.items()}
    assert replaced == {
        'work_dirs/patchmix/vit-xs4_digits_smoke': True,
        'mine': False,
        'named_smoke': False,
        f'work_dirs/{tmp_path.name}/own_smoke': True,
    }
