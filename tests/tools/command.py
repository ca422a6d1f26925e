"""Command-line tools, run as a user runs them: each in its own process, forked from one that has the imports.

Each ``python`` that the tools start, also through a shell script or torchrun, is forked as well.

Tests that need an interpreter without imports (what a command imports, or prints meanwhile) use ``subprocess``.
"""

import contextlib
import os
import signal
import socket
import subprocess
from pathlib import Path

from tools.forked_python import FOLDER

ROOT = Path(__file__).parents[2]
ENVIRONMENT = {
    **{name: value for name, value in os.environ.items() if not name.startswith('PYTEST_')},
    'OMP_NUM_THREADS': '1',
    'CUDA_VISIBLE_DEVICES': '',
    'PYTHONPATH': str(ROOT),
}


def start(*arguments: object, **variables: object) -> subprocess.Popen:
    """Start ``python ARGUMENTS``, or the shell script that comes first, in the repository.

    ``variables`` are added to the environment that all commands have.
    """
    python = Path(os.environ[FOLDER]) / 'bin/python'  # tests/conftest.py makes it
    environment = {
        **ENVIRONMENT,
        'PATH': f'{python.parent}:{os.environ["PATH"]}',
        'PYTHON_EXEC': python,  # read by torchrun
        'PORT': free_port(),  # where torchrun meets
        **variables,
    }
    return subprocess.Popen(
        ['bash' if str(arguments[0]).endswith('.sh') else python, *map(str, arguments)],
        cwd=ROOT,
        env={name: str(value) for name, value in environment.items()},
        text=True,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )


def free_port() -> int:
    with socket.socket() as free:
        free.bind(('127.0.0.1', 0))
        return free.getsockname()[1]


def stop(process: subprocess.Popen) -> None:
    """End what :func:`start` started, if it still runs."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def run(*arguments: object, timeout: float = 120) -> subprocess.CompletedProcess:
    """Start a command (:func:`start`) and wait for its end, at most ``timeout`` seconds."""
    process = start(*arguments)
    try:
        stdout, stderr = process.communicate(timeout=timeout)
    finally:
        stop(process)
    return subprocess.CompletedProcess(arguments, process.returncode, stdout, stderr)


def error_lines(stderr: str) -> list[str]:
    return [line for line in stderr.splitlines() if line.startswith('error:')]
