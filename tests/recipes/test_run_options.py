"""Changes that options of the commands make in a config."""

from pathlib import Path

import pytest
from mmengine.config import Config

from mixcl.errors import UserError
from mixcl.recipes.own_data import use_cache
from mixcl.recipes.reading import read_config
from mixcl.recipes.run_options import limit_time


def limited(duration: str) -> int:
    cfg = Config(dict(train_cfg=dict()))
    limit_time(cfg, duration)
    return cfg.train_cfg.max_seconds


def test_durations() -> None:
    found = [limited(duration) for duration in ('23h30m', '90m', '45s', '1d2h3m4s', ' 2h ')]
    assert found == [84600, 5400, 45, 93784, 7200]
    for duration in ('', '0s', '30', '1.5h', '30m2h', '-5m', 'tomorrow'):
        with pytest.raises(UserError, match=r'`max_time` takes a duration such as 23h30m, 90m or 45s, not'):
            limited(duration)


def test_where_copies_of_photos_are_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cfg = read_config('configs/patchmix/vit-s16_folder.py')
    monkeypatch.chdir(tmp_path)
    use_cache(cfg, 'copies', 2.5)
    assert cfg.data.cache == dict(folder=str(tmp_path / 'copies'), gigabytes=2.5)
    (tmp_path / 'file').touch()
    with pytest.raises(UserError, match=r'results cannot be written to .*file.*by `cache`'):
        use_cache(cfg, 'file', 2.5)
