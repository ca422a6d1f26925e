"""One pair of processes for all tests of the engine that need two, and one for those that take long."""

import functools

import pairs
import pytest
from engine import engine_pairs


@pytest.fixture(scope='session')
def pair(tmp_path_factory: pytest.TempPathFactory) -> list[dict]:
    """What the two processes found."""
    folder = tmp_path_factory.mktemp('engine_pair')
    return pairs.run_pair(functools.partial(engine_pairs.everything, folder), folder)


@pytest.fixture(scope='session')
def long_pair(tmp_path_factory: pytest.TempPathFactory) -> list[dict]:
    """What the two processes found of all models and optimisers."""
    return pairs.run_pair(
        functools.partial(engine_pairs.sharding, engine_pairs.RUNS), tmp_path_factory.mktemp('long_pair')
    )
