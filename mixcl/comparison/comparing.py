"""A fair comparison of methods in one call."""

import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from mixcl.comparison.choosing import with_choices
from mixcl.comparison.lengths import with_lengths
from mixcl.comparison.page import comparison_of, write
from mixcl.comparison.running import jobs_of, work
from mixcl.comparison.state import Result, State
from mixcl.comparison.table import Table, read_table
from mixcl.errors import UserError
from mixcl.evaluation.functional.paired_difference import Difference
from mixcl.files import check_writable

HELPER = 'MIXCL_COMPARE_HELPER'
"""Environment variable of processes that share the work of another."""
RESOLVED = 'table.py'
"""File of the comparison in its folder, with the length of every run."""


class Compared(NamedTuple):
    """Results by name in the order of seeds, differences by pair and measure, and why runs failed."""

    results: dict[str, list[Result]]
    differences: dict[tuple[str, str], dict[str, Difference]]
    failures: dict[str, str]
    folder: Path

    @property
    def text(self) -> str:
        """The tables, as Markdown."""
        return (self.folder / 'compare.md').read_text()


def compare(
    runs: str | Path | Sequence[str] | Mapping[str, Any], out: str | Path = 'compared', *, jobs: int = 1, **options: Any
) -> Compared:
    """Train methods with several seeds on the same images, and tell where one is better than another.

    The same call again does what is not finished. docs/compare.md explains the tables.

    Args:
        runs: names of methods or configs, each perhaps with overrides behind it ('mocov3 model.streams.view1.keep=.3');
            the first is what the others are compared with. Or a file; or settings by name.
        out: folder of runs, results and the page.
        jobs: processes that work at the same time.
        **options: ``data``, ``model``, ``epochs`` and others of all runs as :func:`mixcl.pretrain` takes them; seeds,
            measures and others of :class:`~mixcl.comparison.table.Table`.

    Raises:
        UserError: for whatever cannot work, before the first run.
        RunStopped: if a signal ended a run.
    """
    said, folder = read_table(runs, **options), Path(out).resolve()
    if said.equal == 'time' and jobs > 1:
        raise UserError("equal='time' measures seconds, which runs at the same time would change: leave out `jobs`")
    check_writable(folder, '`out`')
    state = State(folder, said.results)
    is_settled = said.equal == 'epochs' and not said.choices
    # Where all is stored there is only a page to write, which needs no images.
    is_done = is_settled and all(job.result() for job in jobs_of(said, state))
    table = said if is_done else with_lengths(said, state)
    if table.choices:
        chosen = with_choices(table, folder, partial(_perform, jobs=jobs))
        winners = {name: replace(run, options=chosen.runs[name].options) for name, run in said.runs.items()}
        # What was chosen may change the number of passes.
        table = with_lengths(replace(said, runs=winners, choices={}, tried=chosen.tried), state)
    failures = _perform(table, folder, jobs)
    comparison = comparison_of(table, state, failures)
    return Compared(comparison.found, comparison.differences, failures, folder)


def _perform(table: Table, folder: Path, jobs: int) -> dict[str, str]:
    """Train and measure the runs of a table by so many processes, write its page, and return why which failed."""
    state = State(folder, table.results)
    if os.environ.get(HELPER) is None:
        state.forget_failures()
    table.write(folder / RESOLVED)
    words = [sys.executable, '-m', 'mixcl', 'compare', str(folder / RESOLVED), '--out', str(folder)]
    environment = {**os.environ, HELPER: '1'}
    # What they print is in the logs of runs.
    others = [subprocess.Popen(words, stdout=subprocess.DEVNULL, env=environment) for _ in range(jobs - 1)]
    try:
        failures = work(jobs_of(table, state))
    except BaseException:  # they save their runs and end
        for process in others:
            process.terminate()
        raise
    finally:
        for process in others:
            process.wait()
    write(table, state, failures)
    return failures
