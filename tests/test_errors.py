"""Which process of several tells what is wrong, and which wait for it."""

import os
import re
import signal
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from torch.utils.data import DataLoader

from mixcl.errors import UserError, printable, reported_to_user


@pytest.mark.parametrize(
    ('rank', 'of_one_process', 'waits', 'says'),
    [
        (0, False, [], 'error: this cannot work\n'),
        # A launcher ends all processes as soon as one has ended, and the sentence would never be said.
        (1, False, [10], ''),
        (1, True, [], 'error: this cannot work\n'),
    ],
    ids=['the first tells what all meet', 'others wait for it', 'who meets it alone tells'],
)
def test_one_process_tells(
    rank: int,
    of_one_process: bool,
    waits: list,
    says: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture,
) -> None:
    waited: list[float] = []
    monkeypatch.setenv('RANK', str(rank))
    monkeypatch.setattr(time, 'sleep', waited.append)
    error = UserError('this cannot work')
    error.of_one_process = of_one_process
    with pytest.raises(SystemExit) as exit_, reported_to_user():
        raise error
    assert exit_.value.code == 2 and waited == waits and capsys.readouterr().err == says


class Doomed:
    """Images whose loading ends the process, as the system does when memory runs out."""

    def __len__(self) -> int:
        return 4

    def __getitem__(self, index: int) -> int:
        os.kill(os.getpid(), signal.SIGKILL)
        return index


def load() -> None:
    list(DataLoader(Doomed(), num_workers=1))


def fill() -> None:
    Path('/dev/full').write_text('x')


def lose_peer() -> None:
    raise RuntimeError('[gloo/transport/tcp/pair.cc:547] Connection closed by peer [127.0.0.1]:1')


@pytest.mark.parametrize(
    ('meet', 'sentence'),
    [
        (load, r'a process that loads images was killed, .* memory ran out .* use fewer .*\(num_workers\)'),
        (fill, r'a file cannot be written \(No space left on device\): make room'),
        (lose_peer, 'another process of this run has ended'),
    ],
)
def test_what_the_system_does_is_told_in_one_sentence(
    meet: Callable[[], None], sentence: str, capsys: pytest.CaptureFixture
) -> None:
    on_sigterm = signal.getsignal(signal.SIGTERM)
    with pytest.raises(SystemExit) as exit_, reported_to_user('again'):
        meet()
    signal.signal(signal.SIGTERM, on_sigterm)
    assert exit_.value.code == 2
    assert re.fullmatch(f'error: {sentence}.*; again\n', capsys.readouterr().err)


def test_errors_of_programs_keep_their_traceback() -> None:
    for error in (RuntimeError('shapes differ'), FileNotFoundError(2, 'No such file')):
        with pytest.raises(type(error)), reported_to_user():
            raise error


def test_names_of_files_are_printed_on_one_line() -> None:
    name = 'a\n2026/01/01 - INFO\r\x1b[2J\u202e\udcff Ärger.jpg'
    assert printable(name) == printable(printable(name)) == r'a\n2026/01/01 - INFO\r\x1b[2J\u202e\udcff Ärger.jpg'
    assert str(UserError('two\n  lines, \x1b[2J')) == 'two\n  lines, \\x1b[2J'
