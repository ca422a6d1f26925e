"""Errors that the launcher of several processes reports for those that have failed."""

import re
import runpy
import signal

import pytest
from torch.distributed.elastic.multiprocessing.errors import ProcessFailure


@pytest.mark.parametrize(
    ('statuses', 'said'),
    [
        (
            {1: -signal.SIGKILL},
            'error: process 1 .* killed by SIGKILL, most likely .* memory ran out .* --overwrite, continues',
        ),
        ({0: -signal.SIGTERM, 1: -signal.SIGSEGV}, 'error: process 1 .* killed by SIGSEGV; '),
        ({0: 2, 3: -signal.SIGKILL}, 'error: process 3 '),
        ({0: 3}, 'error: process 0 of this run has ended with status 3; '),
        ({0: 2, 1: 85}, None),
    ],
)
def test_one_sentence_of_processes_that_have_said_nothing(statuses: dict[int, int], said: str | None) -> None:
    failures = {rank: ProcessFailure(rank, 1234, status, 'none') for rank, status in statuses.items()}
    sentence = runpy.run_path('tools/torchrun.py')['sentence'](failures)
    assert sentence is None if said is None else re.match(said, sentence)
