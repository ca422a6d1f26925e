"""Disks and shared memory that are full during a run."""

import errno
import logging
import subprocess
import sys
from pathlib import Path

import pytest
from engine.tiny_runs import run_config
from mmengine.hooks import Hook
from mmengine.runner import Runner
from tools.command import ENVIRONMENT

from mixcl.engine.runners.launch import build_runner
from mixcl.faults import system_fault


class FillDisk(Hook):
    """A hook that sends the log to /dev/full, where a write fails as on a full disk, when training begins."""

    def before_train(self, runner: Runner) -> None:
        for handler in runner.logger.handlers:
            if isinstance(handler, logging.FileHandler):
                handler.setStream(open('/dev/full', 'w'))  # noqa: SIM115


def test_a_log_without_room_ends_a_run(tmp_path: Path, capfd: pytest.CaptureFixture) -> None:
    runner = build_runner(run_config(tmp_path))
    runner.register_hook(FillDisk())
    with pytest.raises(OSError) as raised:
        runner.train()
    assert raised.value.errno == errno.ENOSPC and 'make room' in system_fault(raised.value)
    assert 'Logging error' not in capfd.readouterr().err


@pytest.mark.parametrize(
    ('limit', 'meet', 'cure'),
    [
        ('ulimit -f 1', "open('big', 'wb').write(bytes(10**6))", 'ulimit -f unlimited'),
        ('ulimit -n 20', "[open('/dev/null') for _ in range(20)]", 'ulimit -n 4096'),
        ('mount -t tmpfs -o size=4k,nr_inodes=1 tmpfs /dev/shm', '__import__("multiprocessing").Lock()', '/dev/shm'),
    ],
)
def test_a_limit_of_the_system_is_named(limit: str, meet: str, cure: str, tmp_path: Path) -> None:
    program = f"""
from mixcl.faults import system_fault
try:
    {meet}
except Exception as error:
    print(system_fault(error))
"""
    unshared = ['unshare', '--mount', '--map-root-user'] if 'mount' in limit else []
    if unshared and subprocess.run([*unshared, 'true'], capture_output=True).returncode:
        pytest.skip('needs a mount namespace')
    words = [*unshared, 'sh', '-c', f'{limit} && exec "$0" -c "$1"', sys.executable, program]
    ran = subprocess.run(words, cwd=tmp_path, env=ENVIRONMENT, capture_output=True, text=True)
    assert cure in ran.stdout, ran.stderr


def test_too_little_shared_memory_is_told_as_such() -> None:
    """torch 2.10's message in a data worker."""
    error = RuntimeError('unable to allocate shared memory(shm) for file </torch_7_1>: No space left on device (28)')
    assert 'enlarge /dev/shm' in system_fault(error)
