"""Which process of several tells what is wrong, and which wait for it."""

import time

import pytest

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


def test_names_of_files_are_printed_on_one_line() -> None:
    name = 'a\n2026/01/01 - INFO\r\x1b[2J\u202e\udcff Ärger.jpg'
    assert printable(name) == printable(printable(name)) == r'a\n2026/01/01 - INFO\r\x1b[2J\u202e\udcff Ärger.jpg'
    assert str(UserError('two\n  lines, \x1b[2J')) == 'two\n  lines, \\x1b[2J'
