"""A process that has imported everything and forks a child per command, which saves the 7 to 11 s of the imports.

``python tests/tools/fork_server.py FOLDER PROCESS`` listens at ``FOLDER/socket`` until the folder or the process is
gone. Its clients run ``forked_python.py``. Each sends a line of JSON (``words``, ``folder``, ``environment``) with its
three standard streams, then signals for the command, a byte each. It receives a byte once the command exists, and the
exit status as a line. If a client leaves before, its command is killed with all that it started.
"""

import contextlib
import gc
import importlib
import json
import os
import random
import runpy
import signal
import socket
import sys
import threading
from pathlib import Path

ALSO = [
    *('torch._dynamo', 'torch.distributed.run', 'torch.utils.tensorboard', 'mmpretrain.visualization'),
    *('yapf.yapflib.yapf_api', 'setuptools', 'matplotlib.pyplot', 'sklearn.datasets', 'sklearn.svm'),
]
"""Modules that commands import late, beside those of mixcl."""


def import_everything() -> None:
    """Import all of mixcl but detection, the only part that imports mmdet."""
    import torch

    import mixcl

    torch.set_num_threads(1)  # threads do not survive a fork
    root = Path(mixcl.__file__).parent
    modules = ['.'.join(path.relative_to(root.parent).with_suffix('').parts) for path in sorted(root.rglob('*.py'))]
    for name in [*modules, *ALSO]:
        if not name.startswith('mixcl.detection') and not name.endswith('__main__'):
            importlib.import_module(name.removesuffix('.__init__'))


def serve(folder: Path, process: int) -> list[str]:
    """Attend to each client in a process of its own. Return in the commands only, with their words."""
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(str(folder / 'starting'))
    listener.listen(64)
    listener.settimeout(1)
    (folder / 'starting').rename(folder / 'socket')
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for the children
    while (folder / 'socket').exists() and is_running(process):
        with contextlib.suppress(TimeoutError):
            client, _ = listener.accept()
            if os.fork() == 0:
                listener.close()
                signal.signal(signal.SIGCHLD, signal.SIG_DFL)
                return attend(client)
            client.close()
    os._exit(0)


def attend(client: socket.socket) -> list[str]:
    """Fork the client's command, and tell the client how it ends. Return in the command only."""
    text, streams, _, _ = socket.recv_fds(client, 1 << 16, 3)
    while not text.endswith(b'\n'):
        text += client.recv(1 << 16)
    request = json.loads(text)
    command = os.fork()
    os.setpgid(command, command)  # in both processes, so that no signal comes before it
    if command == 0:
        client.close()
        become(request, streams)
        return request['words']
    for stream in streams:
        os.close(stream)
    client.sendall(b'.')
    threading.Thread(target=pass_on, args=(client, command), daemon=True).start()
    status = os.waitstatus_to_exitcode(os.waitpid(command, 0)[1])
    with contextlib.suppress(OSError):  # the client has left
        client.sendall(f'{status}\n'.encode())
    os._exit(0)


def pass_on(client: socket.socket, command: int) -> None:
    """Forward a client's signals to its command and what that started; send SIGKILL when the client leaves."""
    number = None
    while number != signal.SIGKILL:
        number = (client.recv(1) or bytes([signal.SIGKILL]))[0]
        with contextlib.suppress(ProcessLookupError):
            os.killpg(command, number)


def is_running(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    return True


def become(request: dict, streams: list[int]) -> None:
    """Make this process look like one that was started directly."""
    import numpy as np
    import torch

    torch.set_num_threads(1)  # makes torch's thread pool anew; two threads at once would fail
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
        os.close(stream)
    os.chdir(request['folder'])
    os.environ.clear()
    os.environ.update(request['environment'])
    sys.path[1:1] = [path for path in os.environ.get('PYTHONPATH', '').split(':') if path]
    random.seed()
    np.random.seed()
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.pthread_sigmask(signal.SIG_SETMASK, ())  # the client that started the server may have blocked some


def execute(words: list[str]) -> None:
    """Do what ``python WORDS`` does."""
    if words[0] == '-u':
        sys.stdout.reconfigure(write_through=True)
        words = words[1:]
    if words[0] == '-c':
        sys.argv = ['-c', *words[2:]]
        sys.path[0] = ''
        exec(compile(words[1], '<string>', 'exec'), dict(__name__='__main__'))
    elif words[0] == '-m':
        sys.argv = words[1:]
        sys.modules.pop(words[1], None)  # runpy warns of a module that it executes once more
        sys.path[0] = os.getcwd()
        runpy.run_module(words[1], run_name='__main__', alter_sys=True)
    else:
        sys.argv = words
        sys.path[0] = str(Path(words[0]).resolve().parent)
        runpy.run_path(words[0], run_name='__main__')


if __name__ == '__main__':
    import_everything()
    gc.collect()
    gc.freeze()
    execute(serve(Path(sys.argv[1]), int(sys.argv[2])))
