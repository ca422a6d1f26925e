"""Command-line tools, run in the process of the test, which saves the imports."""

import itertools
import os
import runpy
import signal
import sys
from collections.abc import Sequence
from unittest.mock import patch

import pytest
import torch
from tools.command import error_lines

_numbers = itertools.count()


def run_here(*arguments: object, options: Sequence[str] = ()) -> int:
    """Run ``python ARGUMENTS --cfg-options OPTIONS`` on the CPU; return its exit status."""
    # mmengine names runs by time stamps: two quick runs would share a name, and thus a log.
    return run_as_given(*arguments, '--cfg-options', f'experiment_name=here_{next(_numbers)}', *options)


def run_as_given(*arguments: object) -> int:
    """Run ``python ARGUMENTS`` on the CPU; return its exit status."""
    words = [*map(str, arguments)]
    on_sigterm = signal.getsignal(signal.SIGTERM)
    beside = [os.path.dirname(words[0]), *sys.path]  # as Python does for a script
    with (
        patch.object(sys, 'argv', words),
        patch.object(sys, 'path', beside),
        patch.object(torch.cuda, 'is_available', lambda: False),
    ):
        try:
            runpy.run_path(words[0], run_name='__main__')
        except SystemExit as exit_:
            return exit_.code or 0
        finally:
            # A stopped run ignores SIGTERM from then on, and so would all processes that later tests start.
            signal.signal(signal.SIGTERM, on_sigterm)
    return 0


def refusal(capfd: pytest.CaptureFixture, *arguments: object, options: Sequence[str] | None = ()) -> str:
    """Return the only error of a command, which must end with status 2 and without a traceback.

    ``options=None`` is for commands without ``--cfg-options``.
    """
    capfd.readouterr()
    status = run_as_given(*arguments) if options is None else run_here(*arguments, options=options)
    stderr = capfd.readouterr().err
    (line,) = error_lines(stderr)
    assert status == 2 and 'Traceback' not in stderr
    return line
