"""``python`` for tests, shell scripts and torchrun: the same command in a child of the fork server.

Signals that commands listen to are forwarded to the command and what it started. If this process is killed, so are
they.
"""

import contextlib
import fcntl
import json
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

# It starts in 20 ms, as it is run with -S -E and by its path, and imports only the standard library.

FOLDER = 'MIXCL_TEST_FOLDER'
"""Environment variable with the folder that all processes of a test session share (``tests/conftest.py``)."""


def main() -> int:
    passed_on = (signal.SIGTERM, signal.SIGINT, signal.SIGUSR1)
    signal.pthread_sigmask(signal.SIG_BLOCK, passed_on)
    server = connected(Path(os.environ[FOLDER]))
    request = json.dumps(dict(words=sys.argv[1:], folder=os.getcwd(), environment=dict(os.environ))).encode() + b'\n'
    server.sendall(request[socket.send_fds(server, [request], [0, 1, 2]) :])
    server.recv(1)  # the command exists

    def pass_on(number: int, _: object) -> None:
        with contextlib.suppress(OSError):  # the command has ended
            server.sendall(bytes([number]))

    for number in passed_on:
        signal.signal(number, pass_on)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, passed_on)
    server.settimeout(0.1)  # a signal that comes just before a wait is handled after it
    said = b''
    while not said.endswith(b'\n'):
        try:
            part = server.recv(64)
        except TimeoutError:
            continue
        if not part:
            break
        said += part
    status = int(said or -signal.SIGKILL)
    if status < 0:
        with contextlib.suppress(OSError):  # SIGKILL cannot be handled
            signal.signal(-status, signal.SIG_DFL)
        os.kill(os.getpid(), -status)
    return status


def connected(folder: Path) -> socket.socket:
    """Return a connection to the server of the test session, which is started if there is none."""
    with open(folder / 'lock', 'w') as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (folder / 'socket').exists():
            start_server(folder)
    connection = socket.socket(socket.AF_UNIX)
    connection.connect(str(folder / 'socket'))
    return connection


def start_server(folder: Path) -> None:
    log_file = folder / 'server.log'
    if log_file.exists():  # an earlier start failed
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


if __name__ == '__main__':
    sys.exit(main())
