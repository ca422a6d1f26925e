"""What a trial run may remove."""

import pytest

import mixcl
from mixcl.apis import training
from mixcl.experiments.prepared import Options


def test_a_trial_replaces_trials_in_its_own_folder_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: dict[str, Options] = {}
    monkeypatch.setattr(training, 'run', lambda cfg, options: asked.update({cfg.work_dir: options}))
    for options in (dict(), dict(work_dir='mine'), dict(cfg_options=dict(work_dir='named_smoke'))):
        mixcl.train('patchmix/vit-xs4_digits', smoke=True, **options)
    replaced = {folder: options.overwrite for folder, options in asked.items()}
    assert replaced == {'work_dirs/patchmix/vit-xs4_digits_smoke': True, 'mine': False, 'named_smoke': False}
