"""Results of runs beside each other: accuracies, differences and settings, as rows of tables."""

import statistics
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from mixcl.comparison.settings import differing, settings_of
from mixcl.comparison.state import Result
from mixcl.errors import UserError
from mixcl.evaluation.functional.paired_difference import Difference, difference
from mixcl.visualization.report.run_record import RunRecord

Found = dict[str, list[Result]]
"""Results by name, in the order of seeds."""
Rows = list[list[str]]
"""Heading and rows of a table."""


@dataclass(frozen=True)
class Comparison:
    """Runs beside each other.

    Attributes:
        found: results of baselines and runs.
        measures: that of the first verdict first.
        pairs: names of a run and of the run that it is compared with.
        folders: of runs that have one, by name and seed.
        baselines: names of what is no run.
        has_verdicts: whether more is better in all measures.
        note: how the tables are to be read, but for the differences.
        failed: why which runs failed.
    """

    found: Found
    measures: Sequence[str]
    pairs: Sequence[tuple[str, str]]
    folders: Mapping[str, Mapping[int, Path]]
    baselines: Sequence[str] = ()
    has_verdicts: bool = True
    note: Sequence[str] = ()
    failed: Mapping[str, str] = field(default_factory=dict)

    @cached_property
    def differences(self) -> dict[tuple[str, str], dict[str, Difference]]:
        """Differences by pair and measure, over the seeds that both have."""
        compared = {}
        for run, beside in self.pairs if self.has_verdicts else ():
            seeds = {result.seed: result for result in self.found.get(beside, [])}
            pairs = [(result, seeds[result.seed]) for result in self.found.get(run, []) if result.seed in seeds]
            gains = {}
            for measure in self.measures:
                values = [(result.values(measure), other.values(measure)) for result, other in pairs]
                # Other images than before are not compared.
                if values and all(mine.size and mine.shape[1] == theirs.shape[1] for mine, theirs in values):
                    gains[measure] = difference(*zip(*values, strict=True))
            if gains:
                compared[run, beside] = gains
        return compared

    @cached_property
    def settings(self) -> dict[str, dict[str, Any]]:
        """Settings that differ between runs: by setting, the value of each run, None where it has none."""
        settings = {}
        for name, folders in self.folders.items():
            with suppress(UserError):  # a folder may lack the log of its run
                settings[name] = settings_of(RunRecord(next(iter(folders.values())), name).config)
        return differing(settings)

    @cached_property
    def columns(self) -> list[str]:
        """Measures that were taken, each with its parts behind it."""
        results = [result for of_name in self.found.values() for result in of_name]
        parts = dict.fromkeys(name for result in results for name in result.answers)
        names = [[whole, *(part for part in parts if part.rpartition('/')[0] == whole)] for whole in self.measures]
        return [name for of_one in names for name in of_one if any(r.accuracy(name) is not None for r in results)]

    def accuracy_rows(self) -> Rows:
        """Return accuracies and costs; a run below a baseline says so. Columns without any value are left out."""
        rows = [['', *map(heading, self.columns), 'seeds', 'steps', 'passes per image', 'minutes', 'below']]
        for name, results in self.found.items():
            cells = [_mean([result.accuracy(measure) for result in results]) for measure in self.columns]
            if any(cells) or name not in self.baselines:  # grey images have no colour histogram
                rows.append([name, *cells, str(len(results)), *_costs(results), self._better_baselines(name)])
        filled = [number for number in range(len(rows[0])) if number == 0 or any(row[number] for row in rows[1:])]
        return [[row[number] for number in filled] for row in rows]

    def _better_baselines(self, name: str) -> str:
        """Name the baselines that are better than a run in the first measure."""

        def mean(of: str) -> float:
            return statistics.mean(result.accuracy(self.measures[0]) or 0 for result in self.found[of])

        others = [] if name in self.baselines else [other for other in self.baselines if other in self.found]
        return ', '.join(other for other in others if mean(other) > mean(name))

    def difference_rows(self) -> Rows:
        """Return the differences with their intervals."""
        rows = [['', 'beside', *map(heading, self.measures)]]
        for pair, gains in self.differences.items():
            rows.append([*pair, *(str(gains[name]) if name in gains else '' for name in self.measures)])
        return rows

    def setting_rows(self) -> Rows:
        """Return the settings that differ, as in Python."""
        rows = [['', *next(iter(self.settings.values()), ())]]
        for name, values in self.settings.items():
            texts = ['' if value is None else repr(value) for value in values.values()]
            rows.append([name, *(text if len(text) <= 100 else f'{text[:97]}...' for text in texts)])
        return rows

    def caption(self) -> list[str]:
        """Say how the tables are to be read."""
        if not self.columns:
            return ['There are no results: `mixcl evaluate RUN --data NAME --protocols knn linear` takes some.']
        if not self.has_verdicts:
            return [*self.note]
        if not any(len(gain.by_seed) > 1 for gains in self.differences.values() for gain in gains.values()):
            return [*self.note, 'One seed: no intervals and no verdicts.']
        return [
            *self.note,
            'Differences are paired by seed, with their 95 % interval over seeds and, where the answer to every image '
            'is known, over test images and draws of labels; "better" and "worse" mean that it excludes 0.',
            f'Verdicts: {sum(map(len, self.differences.values()))}. By chance alone, one in twenty would not be "not '
            'told apart".',
        ]


def heading(measure: str) -> str:
    """Return the title of a column: 'kNN, emoji' for 'knn@emoji'."""
    part = measure.rpartition('/')[2]
    if part.isdigit():
        return f'{part} label{"s" * (part != "1")}{", fine-tuned" * measure.startswith("few_finetuned")}'
    name, at, data = measure.partition('@')
    protocol, space, encoder = name.partition(' ')
    titles = dict(knn='kNN', nearest='1-NN', linear_fast='linear probe', few_finetuned='few labels, fine-tuned')
    title = titles.get(protocol, protocol.replace('_', ' '))
    return title + space + encoder + at.replace('@', ', ') + data


def _mean(accuracies: Sequence[float | None]) -> str:
    known = [value for value in accuracies if value is not None]
    spread = f' ± {statistics.stdev(known):.1f}' if len(known) > 1 else ''
    return f'{statistics.mean(known):.1f}{spread}' if known else ''


def _costs(results: Sequence[Result]) -> tuple[str, str, str]:
    facts = results[0].facts
    minutes = [result.facts['seconds'] / 60 for result in results if 'seconds' in result.facts]
    return (
        str(facts.get('steps', '')),
        ' + '.join(map(str, facts.get('passes') or ())),
        f'{statistics.mean(minutes):.1f}' if minutes else '',
    )
