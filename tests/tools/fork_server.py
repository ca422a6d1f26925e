"""A process that has imported everything and forks a child per command, which saves the 7 to 11 s of the imports.

``python tests/tools/fork_server.py FOLDER PROCESS`` listens at ``FOLDER/socket`` until the folder or the process is
gone. A client sends one line of JSON (``words``, ``folder``, ``environment``) with its three standard streams, and gets
two lines back: the child's number at once and its exit status at the end. The child of a client that leaves before is
killed, with its whole session. See :mod:`tools.command` for the client's side.
"""

import contextlib
import gc
import importlib
import json
import os
import random
import runpy
import selectors
import signal
import socket
import sys
from pathlib import Path

ALSO = [
    *('torch._dynamo', 'torch.distributed.run', 'torch.utils.tensorboard', 'mmpretrain.visualization'),
    *('yapf.yapflib.yapf_api', 'setuptools', 'matplotlib.pyplot', 'sklearn.datasets', 'sklearn.svm'),
]
"""What commands import late, beside the modules of mixcl."""


def import_everything() -> None:
    """All of mixcl but detection, which is the only part that imports mmdet."""
    import torch

    import mixcl

    torch.set_num_threads(1)  # threads do not survive a fork
    mixcl.register_all()
    root = Path(mixcl.__file__).parent
    modules = ['.'.join(path.relative_to(root.parent).with_suffix('').parts) for path in sorted(root.rglob('*.py'))]
    for name in [*modules, *ALSO]:
        if not name.startswith('mixcl.detection') and not name.endswith('__main__'):
            importlib.import_module(name.removesuffix('.__init__'))


def serve(folder: Path, process: int) -> dict:
    """Fork a child per request. Returns in the children only, with their request."""
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(str(folder / 'starting'))
    listener.listen(64)
    (folder / 'starting').rename(folder / 'socket')
    ended, wake = socket.socketpair()
    ended.setblocking(False)
    wake.setblocking(False)
    signal.set_wakeup_fd(wake.fileno())
    signal.signal(signal.SIGCHLD, lambda *_: None)
    selector = selectors.DefaultSelector()
    selector.register(listener, selectors.EVENT_READ)
    selector.register(ended, selectors.EVENT_READ)
    clients: dict[int, socket.socket] = {}
    while (folder / 'socket').exists() and is_running(process):
        for key, _ in selector.select(timeout=1):
            if key.fileobj is listener:
                client, _ = listener.accept()
                request, streams = receive(client)
                child = os.fork()
                if child == 0:
                    os.setsid()
                    say(client, os.getpid())  # not before the session exists, which the client may want to kill
                    signal.set_wakeup_fd(-1)
                    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
                    for connection in (listener, ended, wake, client, *clients.values()):
                        connection.close()
                    selector.close()
                    become(request, streams)
                    return request
                for stream in streams:
                    os.close(stream)
                clients[child] = client
                selector.register(client, selectors.EVENT_READ, child)
            elif key.fileobj is ended:
                ended.recv(4096)
                for child, status in ended_children():
                    client = clients.pop(child)
                    if client in selector.get_map():
                        selector.unregister(client)
                    say(client, status)
                    client.close()
            elif key.data in clients:  # clients say nothing more, so this one has left
                selector.unregister(key.fileobj)
                kill(key.data)
    for child in clients:
        kill(child)
    os._exit(0)


def receive(client: socket.socket) -> tuple[dict, list[int]]:
    """The request and the client's standard streams."""
    text, streams, _, _ = socket.recv_fds(client, 1 << 16, 3)
    while not text.endswith(b'\n'):
        text += client.recv(1 << 16)
    return json.loads(text), streams


def say(client: socket.socket, number: int) -> None:
    with contextlib.suppress(OSError):  # it has left
        client.sendall(f'{number}\n'.encode())


def ended_children() -> list[tuple[int, int]]:
    found = []
    while True:
        try:
            child, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return found
        if child == 0:
            return found
        found.append((child, os.waitstatus_to_exitcode(status)))


def kill(child: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(child, signal.SIGKILL)


def is_running(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    return True


def become(request: dict, streams: list[int]) -> None:
    """Make this process look like one that was started by itself."""
    import numpy as np

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
    """What ``python WORDS`` does."""
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
    execute(serve(Path(sys.argv[1]), int(sys.argv[2]))['words'])
