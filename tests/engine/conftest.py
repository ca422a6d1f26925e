"""One pair of processes for all tests of the engine that need two."""

import functools

import pairs
import pytest
from engine import engine_pairs


@pytest.fixture(scope='session')
def pair(tmp_path_factory: pytest.TempPathFactory) -> list[dict]:
    """Return what the two processes found."""
    folder = tmp_path_factory.mktemp('engine_pair')
    return pairs.run_pair(functools.partial(engine_pairs.everything, folder), folder)
