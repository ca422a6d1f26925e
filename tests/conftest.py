"""Every test runs on one thread, since the suite runs two processes side by side, and leaves no trace for the next."""

import os
import signal
import sys
from collections.abc import Iterator

import pytest
import torch
from mmengine.registry import DefaultScope

torch.set_num_threads(1)


@pytest.fixture(autouse=True)
def nothing_left_behind() -> Iterator[None]:
    """Put back what commands change that run inside the tests, and processes that later tests start would inherit."""
    # Runs set it for all that follows. A test must neither find nor miss types because of a run before it, be it that
    # of a fixture for its module.
    DefaultScope._instance_dict.clear()
    path, environment, folder = list(sys.path), dict(os.environ), os.getcwd()
    handlers = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGUSR1)}
    yield
    DefaultScope._instance_dict.clear()
    for number, handler in handlers.items():
        signal.signal(number, handler)
    sys.path[:] = path
    os.chdir(folder)
    for name in set(os.environ) - set(environment):
        del os.environ[name]
    os.environ.update(environment)
