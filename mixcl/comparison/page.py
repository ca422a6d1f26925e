"""What a comparison found, as lines of Markdown, as JSON and as a page."""

import json
import shlex
import statistics
from collections.abc import Iterator, Sequence
from textwrap import fill
from typing import Any

from matplotlib.figure import Figure

from mixcl.comparison.measures import SHOTS
from mixcl.comparison.running import jobs_of
from mixcl.comparison.state import Result, State
from mixcl.comparison.table import Table
from mixcl.evaluation.functional.paired_difference import Difference, difference
from mixcl.files import written_whole
from mixcl.visualization.canvas import finished
from mixcl.visualization.curves import curves_figure
from mixcl.visualization.report.facts import Block
from mixcl.visualization.report.report_page import picture, write_page

Found = dict[str, list[Result]]
"""Results by name, in the order of seeds."""


def found_in(table: Table, state: State) -> Found:
    """Read the results that there are."""
    found: Found = {}
    for job in jobs_of(table, state):
        if (result := job.result()) is not None:
            found.setdefault(job.name, []).append(result)
    return found


def differences(table: Table, found: Found) -> dict[tuple[str, str], dict[str, Difference]]:
    """Compare the pairs by the seeds that both have, in the named measure first."""
    measures = [table.named, *(name for name in table.measures if name != table.named)] if table.labelled else []
    compared = {}
    for own, host in table.compared:
        seeds = {result.seed: result for result in found.get(host, [])}
        pairs = [(result, seeds[result.seed]) for result in found.get(own, []) if result.seed in seeds]
        of_pair = {}
        for measure in measures:
            rows = [(one.values(measure), other.values(measure)) for one, other in pairs]
            if rows and all(part.size for pair in rows for part in pair):
                of_pair[measure] = difference(*zip(*rows, strict=True))
        if of_pair:
            compared[own, host] = of_pair
    return compared


def accuracy_rows(table: Table, found: Found) -> Iterator[list[str]]:
    """Yield heading and rows of the accuracies; a run below a baseline says so."""
    measures = [name for name in shown(table) if any(result[0].accuracy(name) is not None for result in found.values())]
    yield ['', *map(heading, measures), 'seeds', 'steps', 'passes per image', 'minutes', 'below']
    for name in (*table.baselines, *table.runs):
        results = found.get(name)
        cells = [_mean([result.accuracy(measure) for result in results or ()]) for measure in measures]
        if not results or not any(cells):  # grey images have no colour histogram
            continue
        facts = results[0].facts
        passes = ' + '.join(map(str, facts.get('passes') or ()))
        minutes = [result.facts['seconds'] / 60 for result in results if 'seconds' in result.facts]
        cost = [str(facts.get('steps', '')), passes, f'{statistics.mean(minutes):.1f}' if minutes else '']
        below = '' if name in table.baselines else _below(results, table, found)
        yield [name, *cells, str(len(results)), *cost, below]


def shown(table: Table) -> list[str]:
    """Return the measures of the columns, each few labels' parts beside it."""
    parts = [f'few_labels/{shot}' for shot in SHOTS] if 'few_labels' in table.measures else []
    return [table.named, *parts, *(name for name in table.measures if name != table.named)]


def heading(measure: str) -> str:
    """Return the title of a column."""
    part = measure.rpartition('/')[2]
    if part.isdigit():
        return f'{part} label{"s" * (part != "1")}'
    name, at, data = measure.partition('@')
    return dict(knn='kNN', linear_fast='linear probe').get(name, name.replace('_', ' ')) + at.replace('@', ', ') + data


def _mean(accuracies: Sequence[float | None]) -> str:
    known = [value for value in accuracies if value is not None]
    spread = f' ± {statistics.stdev(known):.1f}' if len(known) > 1 else ''
    return f'{statistics.mean(known):.1f}{spread}' if known else ''


def _below(results: list[Result], table: Table, found: Found) -> str:
    """Name the baselines that are better in the named measure."""
    own = statistics.mean(result.accuracy(table.named) or 0 for result in results)
    theirs = {name: found[name][0].accuracy(table.named) for name in table.baselines if name in found}
    return ', '.join(name for name, value in theirs.items() if value is not None and value > own)


def difference_rows(table: Table, compared: dict) -> Iterator[list[str]]:
    """Yield heading and rows of the differences."""
    measures = [table.named, *(name for name in table.measures if name != table.named)]
    yield ['', 'beside', *map(heading, measures)]
    for (own, host), gains in compared.items():
        yield [own, host, *(str(gains[name]) if name in gains else '' for name in measures)]


def caption(table: Table, compared: dict) -> list[str]:
    """Say how the tables are to be read."""
    verdicts = sum(len(gains) for gains in compared.values())
    lines = [
        f'Accuracies in percent on {table.images}, mean and standard deviation over {table.seeds} seed(s), of the '
        'encoder that mixcl embed takes. "Below" names the baselines that are better in the first column. Pixels have '
        'at most 32 x 32.'
    ]
    if 'few_labels' in table.measures:
        lines += ['Few labels is the mean of logistic regressions on the numbers of labels per class beside it.']
    if not table.labelled:
        return [
            f'{table.images}, without labels: mean and standard deviation over {table.seeds} seed(s) of the percentage '
            'of images found again by another view of them, and of the effective rank and uniformity of the features. '
            'They show collapse, not which method is better: there are no verdicts without labels.'
        ]
    if table.seeds == 1:
        return [*lines, 'One seed: no intervals and no verdicts.']
    return [
        *lines,
        'Differences are paired by seed, with their 95 % interval over seeds and, but for protocols that train, over '
        'test images and draws of labels; "better" and "worse" mean that it excludes 0.',
        f'Verdicts: {verdicts}. By chance alone, one in twenty would not be "not told apart".',
    ]


def markdown(rows: Iterator[list[str]]) -> list[str]:
    """Return rows as a table of Markdown."""
    head, *others = rows
    lines = [head, ['---'] * len(head), *others]
    return [f'| {" | ".join(cell.replace("|", "/") for cell in line)} |' for line in lines]


def write(table: Table, state: State, failed: dict[str, str]) -> str:
    """Write compare.md, compare.json and compare.html, and return the text of the first."""
    found = found_in(table, state)
    compared = differences(table, found)
    lines = [*markdown(accuracy_rows(table, found)), '']
    if compared:
        lines += [*markdown(difference_rows(table, compared)), '']
    lines += (
        caption(table, compared) + [*table.tried] + [f'Failed: {name}: {reason}' for name, reason in failed.items()]
    )
    text = '\n'.join([*lines, ''])
    stored: dict[str, Any] = dict(
        accuracies=[
            dict(name=result.name, seed=result.seed, facts=result.facts)
            | {measure: result.accuracy(measure) for measure in shown(table)}
            for results in found.values()
            for result in results
        ],
        differences=[
            dict(run=own, beside=host, measure=measure, verdict=gain.verdict, **gain._asdict())
            for (own, host), gains in compared.items()
            for measure, gain in gains.items()
        ],
        failed=failed,
    )
    for name, content in {'compare.md': text, 'compare.json': json.dumps(stored, indent=1)}.items():
        with written_whole(state.folder / name) as file:
            file.write(content.encode())
    _write_page(table, state, found, compared, failed)
    return text


def _write_page(table: Table, state: State, found: Found, compared: dict, failed: dict[str, str]) -> None:
    head, *rows = accuracy_rows(table, found)
    blocks = [Block('table', rows, head=head)]
    if compared:
        head, *rows = difference_rows(table, compared)
        blocks += [
            picture(difference_figure(table, compared), 'Differences', 'svg+xml'),
            Block('table', rows, head=head),
        ]
    blocks += [Block('text', line) for line in (*caption(table, compared), *table.tried)]
    sections = {'Comparison': {'': blocks}}
    of_seed = [job for job in jobs_of(table, state) if job.run is not None and job.seed == 0]
    folders = [job.folder for job in of_seed if job.result() is not None]
    if folders:
        lines = [f'{folder.name}: mixcl report {shlex.quote(str(folder))}' for folder in folders]
        sections['Reports of single runs'] = {'': [Block('list', lines)]}
        sections['Curves of seed 0'] = {'': [picture(curves_figure(folders), 'Curves', 'svg+xml')]}
    if failed:
        sections['Failed'] = {'': [Block('list', [f'{name}: {reason}' for name, reason in failed.items()])]}
    write_page(state.folder / 'compare.html', ' and '.join(table.runs), sections)


def difference_figure(table: Table, compared: dict) -> Figure:
    """Draw the differences in the named measure, their intervals, and every seed."""
    gains = {pair: found[table.named] for pair, found in compared.items() if table.named in found}
    figure = Figure(figsize=(11, 1.2 + 0.6 * len(gains)), layout='constrained')
    axis = figure.subplots()
    for place, gain in enumerate(gains.values()):
        axis.plot(gain.by_seed, [place] * len(gain.by_seed), '.', color='0.6')
        axis.errorbar(gain.mean, place, xerr=gain.high - gain.mean, fmt='o', capsize=3, color='C0')
    axis.axvline(0, color='0.3', linewidth=0.8)
    names = [fill(f'{own} beside {host}', 48, break_long_words=False) for own, host in gains]
    axis.set_yticks(range(len(gains)), names, fontsize=8)
    axis.set_ylim(len(gains) - 0.5, -0.5)
    axis.set_xlabel(f'points, {heading(table.named)} (95 % interval; dots are seeds)')
    return finished(figure)
