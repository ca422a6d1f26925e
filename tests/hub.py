"""A hub of models on the loopback address, with the part of its protocol that the real client uses here."""

import base64
import hashlib
import json
import os
import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

ROOT = Path(__file__).parents[1]


class Hub:
    """Repositories of files, and what was asked for.

    Attributes:
        files: content by repository and file.
        private: repositories that were created private.
        asked: method and path of each request.
    """

    def __init__(self) -> None:
        self.files: dict[str, dict[str, bytes]] = {}
        self.private: set[str] = set()
        self.asked: list[str] = []
        self.endpoint = ''

    def commit(self, repository: str) -> str:
        return hashlib.sha1(repr(sorted(self.files[repository])).encode()).hexdigest()

    def answer(self, path: str, body: bytes) -> dict:
        """Answer a POST of the API."""
        if path == '/api/repos/create':
            wanted = json.loads(body)
            name = f'{wanted["organization"]}/{wanted["name"]}'
            self.files[name] = {}
            self.private |= {name} if wanted.get('private') or wanted.get('visibility') == 'private' else set()
            return dict(url=f'{self.endpoint}/{name}', name=name)
        if path == '/api/validate-yaml':
            return dict(errors=[], warnings=[])
        repository, action = re.fullmatch(r'/api/models/([^/]+/[^/]+)/(preupload|commit)/main', path).groups()
        if action == 'preupload':
            names = [file['path'] for file in json.loads(body)['files']]
            return dict(files=[dict(path=name, uploadMode='regular', shouldIgnore=False, oid=None) for name in names])
        for line in body.splitlines():
            match json.loads(line):
                case {'key': 'file', 'value': file}:
                    self.files[repository][file['path']] = base64.b64decode(file['content'])
        commit = self.commit(repository)
        return dict(success=True, commitOid=commit, commitUrl=f'{self.endpoint}/{repository}/commit/{commit}')


@contextmanager
def served() -> Iterator[Hub]:
    """Serve a hub until the end of ``with``."""
    hub = Hub()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = 'HTTP/1.1'

        def reply(self, status: int, content: bytes = b'', **headers: str) -> None:
            hub.asked.append(f'{self.command} {self.path}')
            self.send_response(status)
            for name, value in (headers | {'Content-Length': str(len(content))}).items():
                self.send_header(name.replace('_', '-'), value)
            self.end_headers()
            self.wfile.write(b'' if self.command == 'HEAD' else content)

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers.get('Content-Length') or 0))
            self.reply(200, json.dumps(hub.answer(self.path, body)).encode(), Content_Type='application/json')

        def do_GET(self) -> None:
            asked = re.fullmatch(r'/([^/]+/[^/]+)/resolve/[^/]+/(.+)', self.path)
            repository, name = asked.groups() if asked else ('', '')
            if repository not in hub.files:
                return self.reply(404, X_Error_Code='RepoNotFound')
            if name not in hub.files[repository]:
                return self.reply(404, X_Error_Code='EntryNotFound', X_Repo_Commit=hub.commit(repository))
            content = hub.files[repository][name]
            tag = f'"{hashlib.sha1(content).hexdigest()}"'
            return self.reply(200, content, ETag=tag, X_Repo_Commit=hub.commit(repository))

        do_HEAD = do_GET

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(('127.0.0.1', 0), Handler)
    hub.endpoint = f'http://127.0.0.1:{server.server_port}'
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield hub
    finally:
        server.shutdown()
        server.server_close()


def python(*arguments: object, home: Path, **variables: str) -> subprocess.CompletedProcess:
    """Run Python in a process of its own, since the client reads its environment when it is imported."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(('HF_', 'PYTEST_'))}
    kept |= dict(HF_HOME=str(home), PYTHONPATH=f'{home}:{ROOT}', OMP_NUM_THREADS='1', CUDA_VISIBLE_DEVICES='')
    return subprocess.run(
        [sys.executable, *map(str, arguments)],
        env=kept | variables, cwd=home, text=True, capture_output=True, timeout=300,
    )  # fmt: skip
