"""``python`` for shell scripts and torchrun: the same command in a child of the fork server.

Passes on the signals that commands listen to. When it is killed, the server kills the child.
"""

import contextlib
import os
import signal
import sys

# Started with -S -E and by its path: nothing but the standard library, 20 ms.
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from fork_request import request_fork


def main() -> int:
    passed_on = (signal.SIGTERM, signal.SIGINT, signal.SIGUSR1)
    signal.pthread_sigmask(signal.SIG_BLOCK, passed_on)
    child, connection = request_fork(sys.argv[1:], os.getcwd(), dict(os.environ), (0, 1, 2))

    def pass_on(number: int, _: object) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.kill(child, number)

    for number in passed_on:
        signal.signal(number, pass_on)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, passed_on)
    status = int(connection.makefile().readline() or -signal.SIGKILL)
    if status < 0:
        signal.signal(-status, signal.SIG_DFL)
        os.kill(os.getpid(), -status)
    return status


if __name__ == '__main__':
    sys.exit(main())
