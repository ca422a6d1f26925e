"""Progress of long work, on a terminal and in a file."""

import io
import logging
import re
import sys
import time

import pytest
from mmengine.logging import MMLogger

from mixcl import terminal
from mixcl.quiet_log import FOR_PEOPLE, quieten
from mixcl.terminal import Progress, closing_progress, progress


class FakeTerminal(io.StringIO):
    def isatty(self) -> bool:
        return True

    def looks(self) -> list[str]:
        """Return what its lines showed, one look after another."""
        plain = re.sub(r'\x1b\[[\d;?]*[A-Za-z]', '', self.getvalue())
        return [look.strip() for look in re.split(r'[\r\n]', plain) if look.strip()]


class Clock:
    """Stand-in for the module ``time``."""

    def __init__(self) -> None:
        self.now, self.runs = 1000.0, False

    def monotonic(self) -> float:
        return self.now

    def strftime(self, form: str) -> str:
        return f'[{self.now:.0f}]'

    def sleep(self, seconds: float) -> None:
        time.sleep(0.001)
        if self.runs and self.now < 1600:
            self.now += seconds


def on_screen(monkeypatch: pytest.MonkeyPatch) -> FakeTerminal:
    """Replace stdout by a fake terminal; no fixture, since pytest then sets its own stdout for the test."""
    screen = FakeTerminal()
    monkeypatch.setattr(sys, 'stdout', screen)
    monkeypatch.setenv('TERM', 'xterm')
    monkeypatch.setattr(terminal, 'REDRAWN', 0)
    return screen


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(terminal, 'time', clock)
    monkeypatch.setattr(Progress, '_shown', clock.now)
    return clock


def test_a_terminal_has_a_line_for_each_work(monkeypatch: pytest.MonkeyPatch) -> None:
    screen = on_screen(monkeypatch)
    with Progress('epoch 1/2', 20, done=5) as outer:
        outer.update(6, 'loss 4.5')
        for _ in progress('ab', 'kNN features', 2):
            pass
        outer.update(7)
    looks = list(dict.fromkeys(look for look in screen.looks()))
    assert looks[0].startswith('epoch 1/2: 5/20 steps')
    assert re.fullmatch(r'epoch 1/2: 6/20 steps, \S+ steps/s, \S+ left, loss 4\.5', looks[1])
    assert [look.partition(',')[0] for look in looks[2:5]] == [f'kNN features: {n}/2 batches' for n in range(3)]
    assert looks[-1].startswith('epoch 1/2: 7/20 steps')
    assert '\x1b[2K' in screen.getvalue().rpartition('left')[2], 'the lines are taken away at the end'
    assert '\x1b[?25h' in screen.getvalue().partition('5/20')[0], 'the cursor is never away'


def test_the_log_and_the_line_do_not_mix(monkeypatch: pytest.MonkeyPatch) -> None:
    screen = on_screen(monkeypatch)
    logger = MMLogger('of_a_terminal')
    quieten(logger)
    with Progress('training', 3):
        logger.info('Config: ' + 800 * '\n')
        logger.info('this run', extra=FOR_PEOPLE)
        logger.warning('"FileClient" will be deprecated in future.')
        logger.warning('the loss is not finite')
    looks = [look for look in screen.looks() if not look.startswith('training')]
    assert looks == ['this run', 'warning: the loss is not finite']


def test_a_file_has_a_line_every_half_minute(clock: Clock, capsys: pytest.CaptureFixture) -> None:
    with Progress('training', 100_000), Progress('validation', 10) as shown:
        shown.update(3)
        clock.runs = True
        while clock.now < 1600:
            time.sleep(0.01)
    moments = [float(found) for found in re.findall(r'\[(\d+)\] validation: 3/10', capsys.readouterr().out)]
    assert moments[:19] == [*range(1030, 1600, 30)]


def test_other_processes_say_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    screen = on_screen(monkeypatch)
    monkeypatch.setattr(terminal, 'is_main_process', lambda: False)
    assert list(progress(range(3), 'kNN', 3)) == [0, 1, 2] and not screen.getvalue()


def test_what_fails_leaves_no_line_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    screen = on_screen(monkeypatch)
    with pytest.raises(KeyError), closing_progress():
        Progress('training', 3).__enter__()
        raise KeyError
    logging.StreamHandler(screen).handle(logging.makeLogRecord(dict(msg='alone')))
    assert screen.looks()[-1] == 'alone'
    terminal.say('beside it', elsewhere := io.StringIO())
    assert elsewhere.getvalue() == 'beside it\n', 'no live line is open'
