"""The command-line tools, run as a user runs them: each in a process of its own, forked from one that has the imports.

What needs an interpreter that has imported nothing (what a command imports, or prints meanwhile) uses ``subprocess``.
"""

import contextlib
import os
import select
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

from tools.fork_request import FOLDER, request_fork

ROOT = Path(__file__).parents[2]
ENVIRONMENT = {
    **{name: value for name, value in os.environ.items() if not name.startswith('PYTEST_')},
    'OMP_NUM_THREADS': '1',
    'CUDA_VISIBLE_DEVICES': '',
    'PYTHONPATH': str(ROOT),
}


class Command:
    """A running command, used as ``subprocess.Popen``."""

    def __init__(self, words: list[str]) -> None:
        self.args = words
        self.returncode: int | None = None
        out, of_child_out = os.pipe()
        error, of_child_error = os.pipe()
        self.stdout, self.stderr = os.fdopen(out), os.fdopen(error)
        of_child = (os.open(os.devnull, os.O_RDONLY), of_child_out, of_child_error)
        try:
            self.pid, self._connection = request_fork(words, str(ROOT), ENVIRONMENT, of_child)
        finally:
            for stream in of_child:
                os.close(stream)

    def poll(self) -> int | None:
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.wait(timeout=0)
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        if self.returncode is None:
            if not select.select([self._connection], [], [], timeout)[0]:
                raise subprocess.TimeoutExpired(self.args, timeout or 0)
            self.returncode = int(self._connection.makefile().readline())
            self._connection.close()
        return self.returncode

    def communicate(self, timeout: float | None = None) -> tuple[str, str]:
        """What it still writes to standard output and errors. It goes on running after ``timeout`` seconds."""
        deadline = None if timeout is None else time.monotonic() + timeout
        written: list[str] = ['', '']

        def read(number: int) -> None:
            with contextlib.suppress(ValueError):  # closed
                written[number] = (self.stdout, self.stderr)[number].read()

        readers = [threading.Thread(target=read, args=(number,), daemon=True) for number in range(2)]
        for reader in readers:
            reader.start()
        for reader in readers:
            reader.join(None if deadline is None else max(0, deadline - time.monotonic()))
            if reader.is_alive():
                raise subprocess.TimeoutExpired(self.args, timeout or 0)
        self.wait(None if deadline is None else max(0, deadline - time.monotonic()))
        self.stdout.close()
        self.stderr.close()
        return written[0], written[1]

    def send_signal(self, number: int) -> None:
        if self.poll() is None:
            os.kill(self.pid, number)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)


def start(*arguments: object) -> Command:
    """Start ``python ARGUMENTS`` in the repository; its output can be read while it runs."""
    return Command([*map(str, arguments)])


def start_script(*arguments: object, **variables: object) -> subprocess.Popen:
    """Start ``bash ARGUMENTS`` in the repository; each ``python`` in it, and of torchrun, is forked as well.

    Its standard output has its errors, too. torchrun meets at a port that nobody uses.

    Args:
        arguments: the script and its arguments.
        variables: of the environment, beside those of all commands.
    """
    python = _forked_python()
    environment = {
        **ENVIRONMENT,
        'PATH': f'{python.parent}:{os.environ["PATH"]}',
        'PYTHON_EXEC': str(python),
        'PORT': str(free_port()),
        **{name: str(value) for name, value in variables.items()},
    }
    return subprocess.Popen(
        ['bash', *map(str, arguments)],
        cwd=ROOT,
        env=environment,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,
    )


def free_port() -> int:
    with socket.socket() as free:
        free.bind(('127.0.0.1', 0))
        return free.getsockname()[1]


def _forked_python() -> Path:
    path = Path(os.environ[FOLDER]) / 'bin/python'
    if not path.exists():
        path.parent.mkdir(exist_ok=True)
        program = Path(__file__).with_name('forked_python.py')
        path.with_suffix(f'.{os.getpid()}').write_text(f'#!/bin/sh\nexec {sys.executable} -S -E {program} "$@"\n')
        path.with_suffix(f'.{os.getpid()}').chmod(0o755)
        path.with_suffix(f'.{os.getpid()}').rename(path)
    return path


def stop(process: Command | subprocess.Popen) -> None:
    """End a command that :func:`start` or :func:`start_script` started, and whatever it started, if it still runs."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def run(*arguments: object, timeout: float = 120) -> subprocess.CompletedProcess:
    """:func:`start` a command and wait for its end, at most ``timeout`` seconds."""
    process = start(*arguments)
    try:
        stdout, stderr = process.communicate(timeout=timeout)
    finally:
        stop(process)
    return subprocess.CompletedProcess(arguments, process.returncode, stdout, stderr)


def error_lines(stderr: str) -> list[str]:
    return [line for line in stderr.splitlines() if line.startswith('error:')]
