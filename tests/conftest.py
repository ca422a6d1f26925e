"""Tests run on one thread, since the suite runs two processes side by side, and leave no trace for the next test."""

import gc
import os
import random
import shutil
import signal
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import mixcl.quiet_imports  # noqa: F401  # isort: skip  # before mmpretrain, which may fail with transformers
import numpy as np
import pytest
import torch
from mmengine.logging import MMLogger
from mmengine.registry import DefaultScope
from tools.command import run
from tools.forked_python import FOLDER
from tools.once import once

from mixcl.starting import STOP_SIGNALS

torch.set_num_threads(1)


def pytest_configure(config: pytest.Config) -> None:
    """Make the folder that all processes of this test session share, and remove it when the first of them ends."""
    if hasattr(config, 'workerinput'):  # a worker of pytest-xdist inherits the name
        return
    folder = Path(tempfile.mkdtemp(prefix='mixcl-tests-'))
    (folder / 'process').write_text(str(os.getpid()))
    python, program = folder / 'bin/python', Path(__file__).with_name('tools') / 'forked_python.py'
    python.parent.mkdir()
    python.write_text(f'#!/bin/sh\n{FOLDER}={folder} exec {sys.executable} -S -E {program} "$@"\n')
    python.chmod(0o755)
    os.environ[FOLDER] = str(folder)
    config.add_cleanup(lambda: shutil.rmtree(folder, ignore_errors=True))


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup() -> None:
    """Seed the global generators: a test and the fixtures it is first to request draw the same, whatever ran before."""
    for seed in (random.seed, np.random.seed, torch.manual_seed):
        seed(0)


@pytest.fixture(scope='session', autouse=True)
def quick_runs() -> None:
    """Exempt imported objects from garbage collection, which mmengine requests with each data set."""
    gc.collect()
    gc.freeze()


@pytest.hookimpl(trylast=True)
def pytest_unconfigure(config: pytest.Config) -> None:
    """Print as the last line which tests were left out, and how to add them."""
    reporter = config.pluginmanager.get_plugin('terminalreporter')
    skipped = reporter.stats.get('skipped', []) if reporter else []
    if any(report.nodeid.startswith('tests/detection/') for report in skipped):
        print('left out: tests/detection, which needs mmdet and compiled operators of mmcv; `make det` adds them')


@pytest.fixture(scope='session')
def pretrained() -> Path:
    """Return a checkpoint of PatchMix on digits after two steps, for tests that need any checkpoint of a run.

    The whole session shares it: copy it before changing it. Its folder is the work dir of the run.
    """
    return once('pretrained', pretrain) / 'epoch_1.pth'


def pretrain(folder: Path) -> None:
    options = (
        'train_dataloader.dataset.dataset.indices=128', 'batch=64', 'schedule.epochs=1',
        'train_dataloader.num_workers=0', 'model.backbone.arch.num_layers=1',
    )  # fmt: skip
    arguments = ('--work-dir', folder, '--no-validate', '--cfg-options', *options)
    result = run('tools/train.py', 'configs/patchmix/vit-xs4_digits.py', *arguments)
    assert result.returncode == 0, result.stderr[-3000:]


HANDLERS = {number: signal.getsignal(number) for number in STOP_SIGNALS}
HANDLERS[signal.SIGINT] = signal.default_int_handler  # a shell starts background jobs without it


def _forget_commands() -> None:
    """Restore the signal handlers that a command sets at its start, perhaps in a module's fixture before the test."""
    for number, handler in HANDLERS.items():
        signal.signal(number, handler)


@pytest.fixture(autouse=True)
def nothing_left_behind() -> Iterator[None]:
    """Restore what commands change when run inside tests, and what processes of later tests would inherit."""
    # A run sets the default scope for all that follows. A test must neither find nor miss types because of an earlier
    # run, even one in a fixture of its module.
    DefaultScope._instance_dict.clear()
    MMLogger._instance_dict.clear()  # loggers of imports write elsewhere
    path, environment, folder = list(sys.path), dict(os.environ), os.getcwd()
    _forget_commands()
    yield
    DefaultScope._instance_dict.clear()
    MMLogger._instance_dict.clear()  # they write to the standard error of this test
    _forget_commands()
    sys.path[:] = path
    os.chdir(folder)
    for name in set(os.environ) - set(environment):
        del os.environ[name]
    os.environ.update(environment)
