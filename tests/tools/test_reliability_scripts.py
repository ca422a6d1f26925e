"""The long reliability script, shortened; docs/reliability.md has the results of a long run."""

from pathlib import Path

import pytest
from tools.command import run


@pytest.mark.long
def test_a_killed_training_ends_with_the_same_weights(tmp_path: Path) -> None:
    result = run('tools/reliability/kill_training.py', '--kills', 1, '--epochs', 1, '--work-dir', tmp_path)
    assert result.returncode == 0, result.stderr[-3000:]
    assert result.stdout.splitlines()[-1].startswith('1 kills in 22 steps; all ')
