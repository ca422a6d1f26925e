"""Ask the fork server for a child. Imports the standard library only."""

import fcntl
import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

FOLDER = 'MIXCL_TEST_FOLDER'
"""The variable that names the folder which all processes of a test session share; see ``tests/conftest.py``."""


def request_fork(
    words: Sequence[str], folder: str, environment: dict[str, str], streams: Sequence[int]
) -> tuple[int, socket.socket]:
    """Run ``python WORDS`` in a child of the server, which is started if there is none.

    Args:
        words: arguments of python.
        folder: where the command runs.
        environment: all of its variables.
        streams: its standard input, output and errors.

    Returns:
        The number of the process, and a connection that brings its exit status as a line; closing it kills the child.
    """
    connection = connected(Path(os.environ[FOLDER]))
    request = dict(words=list(words), folder=folder, environment=environment)
    text = json.dumps(request).encode() + b'\n'
    sent = socket.send_fds(connection, [text], list(streams))
    connection.sendall(text[sent:])
    line = b''
    while not line.endswith(b'\n'):
        part = connection.recv(1)  # no more than the line: the status follows
        if not part:
            raise RuntimeError(f'the fork server has ended; see {Path(os.environ[FOLDER]) / "server.log"}')
        line += part
    return int(line), connection


def connected(folder: Path) -> socket.socket:
    with open(folder / 'lock', 'w') as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # one server for all processes of a test session
        if not (folder / 'socket').exists():
            start_server(folder)
    connection = socket.socket(socket.AF_UNIX)
    connection.connect(str(folder / 'socket'))
    return connection


def start_server(folder: Path) -> None:
    log_file = folder / 'server.log'
    if log_file.exists():  # it was tried before
        raise RuntimeError(f'the fork server did not start:\n{log_file.read_text()}')
    program = Path(__file__).with_name('fork_server.py')
    changes = dict(OMP_NUM_THREADS='1', CUDA_VISIBLE_DEVICES='', PYTHONPATH=str(program.parents[2]))
    with open(log_file, 'w') as log:
        server = subprocess.Popen(
            [sys.executable, program, folder, (folder / 'process').read_text()],
            cwd=program.parents[2],
            env={**os.environ, **changes},
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
        )
    while not (folder / 'socket').exists():
        if server.poll() is not None:
            raise RuntimeError(f'the fork server did not start:\n{log_file.read_text()}')
        time.sleep(0.02)
