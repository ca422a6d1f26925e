"""Tools that end in one sentence, run in the process of the test, which saves the imports."""

import itertools
import runpy
import sys

import pytest
import torch
from tools.command import error_lines

_numbers = itertools.count()


def refusal(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture, *arguments: object) -> str:
    """Run a tool whose last arguments are those of ``--cfg-options``; return the only error that it reports."""
    # Names of mmengine's runs are time stamps, which two quick runs would share, and their logs with them.
    name = f'experiment_name=refusal_{next(_numbers)}'
    monkeypatch.setattr(sys, 'argv', [*map(str, arguments), name])
    monkeypatch.setattr(torch.cuda, 'is_available', lambda: False)
    with pytest.raises(SystemExit) as exit_:
        runpy.run_path(str(arguments[0]), run_name='__main__')
    stderr = capfd.readouterr().err
    (line,) = error_lines(stderr)
    assert exit_.value.code == 2 and 'Traceback' not in stderr
    return line
