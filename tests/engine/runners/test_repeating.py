"""What the log says on how to repeat a run."""

import subprocess
import sys
from pathlib import Path

import pytest

from mixcl.engine.runners.repeating import how_to_repeat, source_state


def test_the_state_of_the_source(tmp_path: Path) -> None:
    assert source_state(tmp_path) == ''
    git = ['git', '-C', str(tmp_path), '-c', 'user.name=a', '-c', 'user.email=a@b']
    for arguments in (['init', '-q'], ['commit', '-q', '--allow-empty', '-m', 'first']):
        subprocess.run([*git, *arguments], check=True)
    commit = subprocess.run([*git, 'rev-parse', 'HEAD'], check=True, capture_output=True, text=True).stdout.strip()
    assert source_state(tmp_path) == f'git checkout {commit}'
    (tmp_path / 'new.txt').touch()
    assert source_state(tmp_path) == f'git checkout {commit}  # and changes of new.txt'


@pytest.mark.parametrize(('program', 'start'), [('/bin/mixcl', 'mixcl'), ('a b.py', "python 'a b.py'")])
def test_the_command(program: str, start: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, 'argv', [program, 'config', 'x=(1, 2)'])
    assert how_to_repeat(3).splitlines()[-1] == f"  {start} config 'x=(1, 2)'  # seed 3"
