"""Which process of several tells what is wrong, and which wait for it."""

import time

import pytest

from mixcl.errors import UserError, reported_to_user


def end(monkeypatch: pytest.MonkeyPatch, rank: int, of_one_process: bool = False) -> list[float]:
    """Fail in the process of a rank; returns for how long it waited."""
    waited = []
    monkeypatch.setenv('RANK', str(rank))
    monkeypatch.setattr(time, 'sleep', waited.append)
    error = UserError('this cannot work')
    error.of_one_process = of_one_process
    with pytest.raises(SystemExit) as exit_, reported_to_user():
        raise error
    assert exit_.value.code == 2
    return waited


def test_the_first_process_tells_what_all_meet(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture) -> None:
    assert end(monkeypatch, rank=0) == []
    assert capsys.readouterr().err == 'error: this cannot work\n'


def test_others_wait_for_it(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture) -> None:
    """A launcher ends all processes as soon as one has ended, and the sentence would never be said."""
    assert end(monkeypatch, rank=1) == [10]
    assert capsys.readouterr().err == ''


def test_who_meets_it_alone_tells(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture) -> None:
    assert end(monkeypatch, rank=1, of_one_process=True) == []
    assert capsys.readouterr().err == 'error: this cannot work\n'
