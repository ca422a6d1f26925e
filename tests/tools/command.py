"""The command-line tools, run as a user runs them."""

import contextlib
import os
import signal
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
ENVIRONMENT = {**os.environ, 'OMP_NUM_THREADS': '1', 'CUDA_VISIBLE_DEVICES': '', 'PYTHONPATH': str(ROOT)}


def start(*arguments: object) -> subprocess.Popen:
    """Start ``python ARGUMENTS`` in the repository; its output can be read while it runs."""
    return subprocess.Popen(
        [sys.executable, *map(str, arguments)],
        cwd=ROOT,
        env=ENVIRONMENT,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )


def stop(process: subprocess.Popen) -> None:
    """End a command that :func:`start` started, and whatever it started itself, if it still runs."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def run(*arguments: object, timeout: float = 120) -> subprocess.CompletedProcess:
    process = start(*arguments)
    try:
        stdout, stderr = process.communicate(timeout=timeout)
    finally:
        stop(process)
    return subprocess.CompletedProcess(arguments, process.returncode, stdout, stderr)


def error_lines(stderr: str) -> list[str]:
    return [line for line in stderr.splitlines() if line.startswith('error:')]
