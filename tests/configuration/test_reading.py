"""Configs in YAML, which can name any function, are not read."""

from pathlib import Path

import pytest
from weights.marks import marker

from mixcl.engine.runners.launch import read_config
from mixcl.errors import UserError


def test_yaml_runs_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ran = marker(tmp_path, monkeypatch)
    (tmp_path / 'config.yaml').write_text('a: !!python/object/apply:evil.run []')
    with pytest.raises(UserError, match=r'config\.yaml is no \.py file; write it in Python'):
        read_config(tmp_path / 'config.yaml')
    assert not ran.exists()
