"""The page of a comparison, and the same as Markdown and as JSON."""

import json
import os
import shlex
from collections.abc import Mapping
from pathlib import Path
from textwrap import fill
from urllib.parse import quote

from matplotlib.figure import Figure

from mixcl.comparison.rows import Comparison, Found, Rows, heading
from mixcl.comparison.running import jobs_of
from mixcl.comparison.state import State
from mixcl.comparison.table import Table
from mixcl.files import written_whole
from mixcl.visualization.canvas import finished
from mixcl.visualization.curves import curves_figure
from mixcl.visualization.report.facts import Block
from mixcl.visualization.report.report_page import blocks_or_reason, picture, write_page

REPORT = 'report.html'
"""Name of a run's report in its folder."""
PAGE = 'compare.html'


def found_in(table: Table, state: State) -> Found:
    """Read the results that there are."""
    found: Found = {}
    for job in jobs_of(table, state):
        if (result := job.result()) is not None:
            found.setdefault(job.name, []).append(result)
    return found


def comparison_of(table: Table, state: State, failed: Mapping[str, str]) -> Comparison:
    """Return what a comparison has found so far."""
    found = found_in(table, state)
    folders: dict[str, dict[int, Path]] = {}
    for job in jobs_of(table, state):
        is_finished = any(result.seed == job.seed for result in found.get(job.name, ()))
        if job.run is not None and is_finished and job.folder.is_dir():
            folders.setdefault(job.name, {})[job.seed] = job.folder
    measures = [table.named, *(name for name in table.measures if name != table.named)]
    return Comparison(
        found, measures, table.compared, folders, table.baselines, table.labelled,
        [*_note(table), *table.tried], failed,
    )  # fmt: skip


def _note(table: Table) -> list[str]:
    """Say what the accuracies are of."""
    if not table.labelled:
        return [
            f'{table.images}, without labels: mean and standard deviation over {table.seeds} seed(s) of the percentage '
            'of images found again by another view of them, and of the effective rank and uniformity of the features. '
            'They show collapse, not which method is better: there are no verdicts without labels.'
        ]
    note = (
        f'Accuracies in percent on {table.images}, mean and standard deviation over seeds, of the '
        'encoder that mixcl embed takes. "Below" names the baselines that are better in the first column. Pixels have '
        'at most 32 x 32.'
    )
    few = 'Few labels is the mean of logistic regressions on the numbers of labels per class beside it.'
    return [note, few] if 'few_labels' in table.measures else [note]


def markdown(table: Rows) -> list[str]:
    """Return rows as a table of Markdown."""
    head, *others = table
    lines = [head, ['---'] * len(head), *others]
    return [f'| {" | ".join(cell.replace("|", "/") for cell in line)} |' for line in lines]


def write(table: Table, state: State, failed: Mapping[str, str], out: Path | None = None) -> Path:
    """Write compare.md, compare.json and the page, by default compare.html, and return the path of the page."""
    comparison = comparison_of(table, state, failed)
    lines = [*markdown(comparison.accuracy_rows()), '']
    if comparison.differences:
        lines += [*markdown(comparison.difference_rows()), '']
    lines += [*comparison.caption(), *(f'Failed: {name}: {reason}' for name, reason in failed.items()), '']
    stored = dict(
        accuracies=[
            dict(name=result.name, seed=result.seed, facts=result.facts)
            | {measure: result.accuracy(measure) for measure in comparison.columns}
            for results in comparison.found.values()
            for result in results
        ],
        differences=[
            dict(run=run, beside=beside, measure=measure, verdict=gain.verdict, **gain._asdict())
            for (run, beside), gains in comparison.differences.items()
            for measure, gain in gains.items()
        ],
        settings=comparison.settings,
        tried=[*table.tried],
        failed=failed,
    )
    for name, content in {'compare.md': '\n'.join(lines), 'compare.json': json.dumps(stored, indent=1)}.items():
        with written_whole(state.folder / name) as file:
            file.write(content.encode())
    out = out or state.folder / PAGE
    return write_page(out, ', '.join(table.runs), sections(comparison, out))


def sections(comparison: Comparison, out: Path) -> dict[str, dict[str, list[Block]]]:
    """Return the sections of a page that is written to a file."""
    blocks = [_table(comparison.accuracy_rows())]
    if comparison.differences:
        figure = difference_figure(comparison)
        blocks += [picture(figure, 'Differences', 'svg+xml'), _table(comparison.difference_rows())]
    found = {'Comparison': [*blocks, *(Block('text', line) for line in comparison.caption())]}
    firsts = {name: next(iter(folders.values())) for name, folders in comparison.folders.items()}
    if len(firsts) > 1:
        found['Settings that differ'] = [_table(comparison.setting_rows())]
    if firsts:
        curves = blocks_or_reason(
            lambda: [picture(curves_figure([*firsts.values()], labels=[*firsts]), 'Curves', 'svg+xml')]
        )
        found['Curves'] = [Block('missing', curves)] if isinstance(curves, str) else curves
        found['Runs'] = _links(comparison, out)
    if comparison.failed:
        found['Failed'] = [Block('list', [f'{name}: {reason}' for name, reason in comparison.failed.items()])]
    return {title: {'': blocks} for title, blocks in found.items()}


def _table(table: Rows) -> Block:
    return Block('table', table[1:], head=table[0])


def _links(comparison: Comparison, out: Path) -> list[Block]:
    """Link the report of every run, or its folder where there is none."""
    links, missing = [], []
    for name, folders in comparison.folders.items():
        for seed, folder in folders.items():
            report = folder / REPORT
            has_report = report.is_file() and report.resolve() != out.resolve()
            place = os.path.relpath(report if has_report else folder, out.parent)
            links.append((f'{name}, seed {seed}' if len(folders) > 1 else name, quote(place)))
            missing += [] if has_report else [folder]
    command = f'mixcl report {shlex.quote(str(missing[0]))}' if missing else ''
    hint = [Block('text', f'Links to folders are of runs without a report; to write one: {command}')] if missing else []
    return [Block('links', links), *hint]


def difference_figure(comparison: Comparison) -> Figure:
    """Draw the differences in the first measure that has any, their intervals, and every seed."""
    compared = comparison.differences
    measure = next(name for name in comparison.measures if any(name in gains for gains in compared.values()))
    gains = {pair: of_pair[measure] for pair, of_pair in compared.items() if measure in of_pair}
    figure = Figure(figsize=(11, 1.2 + 0.6 * len(gains)), layout='constrained')
    axis = figure.subplots()
    for place, gain in enumerate(gains.values()):
        axis.plot(gain.by_seed, [place] * len(gain.by_seed), '.', color='0.6')
        axis.errorbar(gain.mean, place, xerr=gain.high - gain.mean, fmt='o', capsize=3, color='C0')
    axis.axvline(0, color='0.3', linewidth=0.8)
    names = [fill(f'{run} beside {other}', 48, break_long_words=False) for run, other in gains]
    axis.set_yticks(range(len(gains)), names, fontsize=8)
    axis.set_ylim(len(gains) - 0.5, -0.5)
    axis.set_xlabel(f'points, {heading(measure)} (95 % interval; dots are seeds)')
    return finished(figure)
