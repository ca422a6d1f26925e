"""Settings that are chosen before methods are compared: by the named measure, with one seed, on held-out images."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from mixcl.comparison.page import found_in
from mixcl.comparison.state import State
from mixcl.comparison.table import Table
from mixcl.errors import UserError

CHOICES = 'choices'
"""Folder in that of a comparison, a comparison itself."""


def with_choices(table: Table, folder: Path, perform: Callable[[Table, Path], dict[str, str]]) -> Table:
    """Return the table with the best of the ``choices`` of every run, and what was tried.

    The settings of a run are chosen one after the other, each with the winners before it. ``perform`` trains and
    measures the runs of a table in a folder, and returns why which failed.

    Raises:
        UserError: if no value of a setting can be measured.
    """
    left = {name: [*settings.items()] for name, settings in table.choices.items()}
    table = replace(table, choices={}, tried=())
    while left:
        offered = {name: settings[0] for name, settings in left.items()}
        candidates = {
            f'{name} {setting}={value}': (name, setting, value)
            for name, (setting, values) in offered.items()
            for value in values
        }
        trial = _trial(table, candidates)
        failures = perform(trial, folder / CHOICES)
        found = found_in(trial, State(folder / CHOICES, trial.results))
        accuracies = {title: results[0].accuracy(trial.named) for title, results in found.items()}
        for name, (setting, values) in offered.items():
            scores = {value: accuracies.get(f'{name} {setting}={value}') for value in values}
            known = {value: score for value, score in scores.items() if score is not None}
            if not known:
                raise UserError(f'no {setting} of {name} could be measured: {"; ".join(failures.values())}')
            best = max(known, key=known.__getitem__)
            table = _with_option(table, name, setting, best, _sentence(trial, name, setting, best, scores))
        left = {name: settings[1:] for name, settings in left.items() if settings[1:]}
    return table


def _trial(table: Table, candidates: dict[str, tuple[str, str, Any]]) -> Table:
    """Return the comparison of the candidates on held-out images."""
    runs = {
        title: replace(
            table.runs[name],
            data=table.held_out.get(table.runs[name].images, table.runs[name].data),
            options=table.runs[name].options | {setting: value},
        )
        for title, (name, setting, value) in candidates.items()
    }
    protocol, at, _ = table.named.partition('@')
    held_out = table.held_out[table.data_of(table.named)]
    named = f'{protocol}@{held_out}' if at else protocol
    trial = replace(table, runs=runs, pairs=(), seeds=1, measures=(named,), named=named, baselines=())
    return replace(trial, held_out={}, evaluated=held_out)


def _with_option(table: Table, name: str, setting: str, value: Any, sentence: str) -> Table:
    run = replace(table.runs[name], options=table.runs[name].options | {setting: value})
    return replace(table, runs=table.runs | {name: run}, tried=(*table.tried, sentence))


def _sentence(trial: Table, name: str, setting: str, best: Any, scores: dict[Any, float | None]) -> str:
    tried = ', '.join(f'{value} ({"failed" if score is None else f"{score:.1f}"})' for value, score in scores.items())
    edge = ', at the edge of what was offered' if best in (next(iter(scores)), [*scores][-1]) else ''
    return f'{name}: {setting}={best}{edge}, of {tried} by {trial.named} on {trial.data_of(trial.named)}, one seed.'
