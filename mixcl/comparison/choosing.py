"""Settings that are chosen before methods are compared: by the named measure, with one seed, on held-out images."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from numbers import Real
from pathlib import Path
from typing import Any

from mixcl.comparison.lengths import with_lengths
from mixcl.comparison.page import found_in
from mixcl.comparison.rows import Found
from mixcl.comparison.state import State
from mixcl.comparison.table import Table
from mixcl.errors import UserError

CHOICES = 'choices'
"""Folder in that of a comparison, a comparison itself."""

Candidate = tuple[str, str, Any]
"""A run, a setting and its value."""


def with_choices(table: Table, folder: Path, perform: Callable[[Table, Path], dict[str, str]]) -> Table:
    """Return the table with the best of the ``choices`` of every run, and what was tried.

    The settings of a run are chosen one after the other, each with the winners before it. ``perform`` trains and
    measures the runs of a table in a folder, and returns why which failed.

    Raises:
        UserError: before the first trial, if a value or the held-out images cannot be used; if no value of a setting
            can be measured.
    """
    state, left = State(folder / CHOICES), {name: [*settings.items()] for name, settings in table.choices.items()}
    every = [
        (name, setting, value) for name, settings in left.items() for setting, values in settings for value in values
    ]
    table = replace(table, choices={}, tried=())
    with_lengths(_trial(table, every), state)
    while left:
        offered = {name: settings[0] for name, settings in left.items()}
        candidates = [(name, setting, value) for name, (setting, values) in offered.items() for value in values]
        trial = _trial(table, candidates)
        failures = perform(trial, folder / CHOICES)
        found = found_in(trial, state)
        for name, (setting, values) in offered.items():
            scores = [_score(found, (name, setting, value), trial) for value in values]
            if all(score is None for score in scores):
                raise UserError(f'no {setting} of {name} could be measured: {"; ".join(failures.values())}')
            best = scores.index(max(score for score in scores if score is not None))
            run = replace(table.runs[name], options=table.runs[name].options | {setting: values[best]})
            sentence = _sentence(trial, (name, setting, values[best]), values, scores)
            table = replace(table, runs=table.runs | {name: run}, tried=(*table.tried, sentence))
        left = {name: settings[1:] for name, settings in left.items() if settings[1:]}
    return table


def _title(candidate: Candidate) -> str:
    name, setting, value = candidate
    return f'{name} {setting}={value}'


def _trial(table: Table, candidates: Sequence[Candidate]) -> Table:
    """Return the comparison of the candidates on held-out images."""
    runs = {
        _title((name, setting, value)): replace(
            table.runs[name],
            data=table.held_out.get(table.runs[name].images, table.runs[name].data),
            options=table.runs[name].options | {setting: value},
        )
        for name, setting, value in candidates
    }
    protocol, at, _ = table.named.partition('@')
    held_out = table.held_out[table.data_of(table.named)]
    named = f'{protocol}@{held_out}' if at else protocol
    trial = replace(table, runs=runs, pairs=(), seeds=1, measures=(named,), named=named, baselines=())
    return replace(trial, held_out={}, results=None, evaluated=held_out, equal='epochs')


def _score(found: Found, candidate: Candidate, trial: Table) -> float | None:
    results = found.get(_title(candidate))
    return results[0].accuracy(trial.named) if results else None


def _sentence(trial: Table, best: Candidate, values: Sequence[Any], scores: Sequence[float | None]) -> str:
    said = ['failed' if score is None else f'{score:.1f}' for score in scores]
    tried = ', '.join(f'{value} ({score})' for value, score in zip(values, said, strict=True))
    ordered = len(values) > 2 and all(isinstance(value, Real) for value in values)
    edge = ', at the edge of what was offered' if ordered and best[2] in (min(values), max(values)) else ''
    judged, images = trial.data_of(trial.named), trial.runs[_title(best)].images
    return f'{_title(best)}{edge}, of {tried} by {trial.named} on {judged}, one seed, trained on {images}.'
