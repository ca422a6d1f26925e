"""Commands of the fork server behave like those of an interpreter of their own."""

import signal
import time

import pytest
from tools.command import ROOT, run, start
from tools.fork_server import is_running

WAITING = 'import os, time; print(os.getpid(), flush=True); time.sleep(60)'


def test_arguments_streams_and_status() -> None:
    program = "import os, sys; print(sys.argv, __name__, os.getcwd()); print('no', file=sys.stderr); sys.exit(7)"
    result = run('-c', program, 'a b', 1)
    assert result.stdout == f"['-c', 'a b', '1'] __main__ {ROOT}\n"
    assert (result.stderr, result.returncode) == ('no\n', 7)
    result = run('-c', 'raise ValueError(3)')
    assert result.returncode == 1 and result.stderr.endswith('ValueError: 3\n')


@pytest.mark.parametrize('number', [signal.SIGTERM, signal.SIGKILL])
def test_output_is_read_while_it_runs_and_signals_end_it(number: int) -> None:
    """The caller knows only the stand-in; the command itself prints its process id."""
    process = start('-c', WAITING)
    command = int(process.stdout.readline())
    assert is_running(command) and process.poll() is None
    process.send_signal(number)
    assert process.communicate(timeout=10) == ('', '') and process.returncode == -number
    deadline = time.monotonic() + 10
    while is_running(command) and time.monotonic() < deadline:
        time.sleep(0.01)
    assert not is_running(command)
    assert run('-c', 'print(1)').stdout == '1\n', 'the server goes on'
