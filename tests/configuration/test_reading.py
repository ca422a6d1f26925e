"""Configs in YAML and JSON are data."""

import json
import sys
from pathlib import Path

import pytest
import yaml
from weights.marks import marker

from mixcl.engine.runners.launch import read_config
from mixcl.errors import UserError

DIGITS = 'configs/patchmix/vit-xs4_digits.py'


@pytest.mark.parametrize(('suffix', 'write'), [('json', json.dumps), ('yaml', yaml.safe_dump), ('yml', yaml.safe_dump)])
def test_they_say_what_a_program_says(suffix: str, write: object, tmp_path: Path) -> None:
    cfg = json.loads(json.dumps(read_config(DIGITS).to_dict()))
    path = tmp_path / f'digits.{suffix}'
    path.write_text(write(cfg))
    found = read_config(path)
    assert found.to_dict() == cfg and found.filename == str(path)


def test_they_run_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ran = marker(tmp_path, monkeypatch)
    (tmp_path / 'base.py').write_text('import evil')
    for text, message in (
        ('a: !!python/object/apply:evil.run []', 'could not determine a constructor'),
        ('a: !!python/name:evil.run', 'could not determine a constructor'),
        ('_base_: base.py', "_base_='base.py', which names another file or module: write it in Python"),
        ('custom_imports: {imports: [evil]}', r"custom_imports=.*'evil'.*, which names another file"),
        ('default_scope: evil', "default_scope='evil', which names"),
        ('model: {type: mixcl.ContrastiveViT, _scope_: evil}', r"model\._scope_='evil', which names"),
        ('model: [{a: {type: evil.run}}]', r"model\[0\]\.a\.type='evil\.run', which no registry knows"),
        ('model: {type: mmengine.load, file: a.pkl}', "type='mmengine.load', which no registry knows"),
        ('model: {type: evil}', "model has type='evil', which no registry knows"),
        ('- 1', 'holds no names with values, but a list'),
    ):
        (tmp_path / 'config.yaml').write_text(text)
        with pytest.raises(UserError, match=message):
            read_config(tmp_path / 'config.yaml')
    assert not ran.exists() and str(tmp_path) not in sys.path
