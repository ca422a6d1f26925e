"""Commands report an error in one sentence, by one process of several."""

import inspect
import os
import re
import signal
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest
from torch.utils.data import DataLoader

from mixcl.errors import UserError, printable, reported_to_user, with_options
from mixcl.faults import noting_run


def test_one_process_tells(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture) -> None:
    """The first tells what all meet, for which others wait: a launcher ends all as soon as one has ended."""
    for rank, alone, waits in ((0, False, []), (1, False, [10]), (1, True, [])):
        waited: list[float] = []
        monkeypatch.setenv('RANK', str(rank))
        monkeypatch.setattr('mixcl.errors.time', SimpleNamespace(sleep=waited.append))
        error = UserError('this cannot work')
        error.on_one_process_only = alone
        with pytest.raises(SystemExit) as exit_, reported_to_user():
            raise error
        assert exit_.value.code == 2 and waited == waits
        assert capsys.readouterr().err == ('' if waits else 'error: this cannot work\n')


class Doomed:
    """Images whose loading kills the process, as the system does when memory runs out."""

    def __len__(self) -> int:
        return 4

    def __getitem__(self, index: int) -> int:
        os.kill(os.getpid(), signal.SIGKILL)
        return index


def load() -> None:
    list(DataLoader(Doomed(), num_workers=1))


def fill() -> None:
    Path('/dev/full').write_text('x')


@pytest.mark.parametrize(
    ('meet', 'sentence'),
    [
        (load, r'a process that loads images was killed, .* memory ran out .* use fewer .*\(num_workers\)'),
        (fill, r'a file cannot be written \(No space left on device\): make room'),
    ],
)
def test_what_the_system_does_is_one_sentence(
    meet: Callable[[], None], sentence: str, capsys: pytest.CaptureFixture
) -> None:
    on_sigterm = signal.getsignal(signal.SIGTERM)
    with pytest.raises(SystemExit) as exit_, reported_to_user('again'):
        meet()
    signal.signal(signal.SIGTERM, on_sigterm)
    assert exit_.value.code == 2
    assert re.fullmatch(f'error: {sentence}.*; again\n', capsys.readouterr().err)


class Careless:
    """Images that a data worker cannot load, for an unforeseen reason."""

    def __len__(self) -> int:
        return 4

    def __getitem__(self, index: int) -> int:
        return {}['a\nb']


def load_carelessly() -> None:
    list(DataLoader(Careless(), num_workers=1))


def call_another_package() -> None:
    re.compile('(')


def run_in(folder: Path, meet: Callable[[], None]) -> None:
    with noting_run(folder, lambda: 'epoch_3.pth is saved'):
        meet()


def leave() -> None:
    sys.exit(0)


def leave_as_a_generator() -> None:
    raise GeneratorExit


OWN = Careless.__getitem__, call_another_package, leave, leave_as_a_generator
LINE = {meet: inspect.getsourcelines(meet)[1] + 1 for meet in OWN}


@pytest.mark.parametrize(
    ('meet', 'error'),
    [
        (load_carelessly, rf"KeyError: 'a\\nb' \({__file__}:{LINE[Careless.__getitem__]}\)"),
        (call_another_package, rf'\w+: missing \), .* \({__file__}:{LINE[call_another_package]}\)'),
        (leave, rf'sys\.exit\(0\) was called \({__file__}:{LINE[leave]}\)'),
        (leave_as_a_generator, rf'GeneratorExit \({__file__}:{LINE[leave_as_a_generator]}\)'),
    ],
)
def test_what_nothing_foresaw_is_one_sentence_that_names_the_file_with_its_traceback(
    meet: Callable[[], None], error: str, tmp_path: Path, capsys: pytest.CaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    def ended(folder: Path, rank: int = 0) -> str:
        monkeypatch.setenv('RANK', str(rank))
        with pytest.raises(SystemExit) as exit_, reported_to_user('again'):
            run_in(folder, meet)
        assert exit_.value.code == 1
        return capsys.readouterr().err

    waited: list[float] = []
    monkeypatch.setattr('mixcl.errors.time', SimpleNamespace(sleep=waited.append))
    monkeypatch.setattr(tempfile, 'tempdir', str(tmp_path / 'temporary'))
    (tmp_path / 'temporary').mkdir()
    said = re.fullmatch(f'error: {error}; the traceback is in (.*); epoch_3.pth is saved; again\n', ended(tmp_path))
    assert said and Path(said[1]).parent == tmp_path and waited == []
    assert Path(said[1]).read_text().startswith('Traceback (most recent call last)')
    # Any process may be the only one with the error, and reports it unless the launcher ends it first.
    assert f'traceback is in {tmp_path}/temporary/traceback_' in ended(tmp_path / 'gone', rank=3) and waited == [10]
    (tmp_path / 'temporary').rename(tmp_path / 'full')
    assert '; MIXCL_TRACEBACK=1 shows the traceback; ' in ended(tmp_path / 'gone')
    monkeypatch.setenv('MIXCL_TRACEBACK', '1')
    with pytest.raises((KeyError, re.error, GeneratorExit, SystemExit)) as raised, reported_to_user():
        meet()
    assert getattr(raised.value, 'code', 1) == 1


def test_names_of_files_are_printed_on_one_line() -> None:
    name = 'a\n2026/01/01 - INFO\r\x1b[2J\u202e\udcff Ärger.jpg'
    assert printable(name) == printable(printable(name)) == r'a\n2026/01/01 - INFO\r\x1b[2J\u202e\udcff Ärger.jpg'
    assert str(UserError('two\n  lines, \x1b[2J')) == 'two\n  lines, \\x1b[2J'


def test_a_command_shows_settings_as_its_options() -> None:
    text = 'the config `other.py` has no `image_size=160`, leave out `amp`, or give `shots=3` to `mixcl test`'
    with reported_to_user():
        assert with_options(text) == text
    with reported_to_user('', dict(image_size='--image-size', amp='--amp')):
        shown = with_options(text)
    assert shown == text.replace('`image_size=160`', '--image-size 160').replace('`amp`', '--amp')
