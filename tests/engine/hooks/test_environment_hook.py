"""The record of a run's environment."""

import sys
from pathlib import Path

import pytest

from mixcl.engine.hooks.environment_hook import installed_packages


def test_a_package_that_is_damaged_is_left_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / 'damaged-1.0.dist-info').mkdir()
    monkeypatch.setattr(sys, 'path', [str(tmp_path), *sys.path])
    installed_packages.cache_clear()
    found = installed_packages()
    installed_packages.cache_clear()
    assert None not in found and 'torch' in found
