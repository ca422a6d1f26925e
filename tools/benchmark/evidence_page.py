"""The page of evidence.py: what is done, what the runs found, and where evidence_statistics.py tells methods apart."""

import re
import statistics
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from evidence_measures import unpacked
from evidence_statistics import MEASURES, NAMED, Difference, accuracies, accuracy, difference
from evidence_tables import TABLES, Found, Pair, Table
from matplotlib.figure import Figure

JUDGED = (NAMED, 'nearest', 'linear', 'tuned')
HEAD = """# Evidence: the tables

Written by `tools/benchmark/evidence.py`; [evidence.md](../evidence.md) says how runs are made and judged. Accuracies in
percent, mean ± standard deviation over seeds; verdicts are about the encoder that `mixcl embed` takes. Differences are
paired by seed, with their 95 % interval; "better" and "worse" mean that it excludes 0. A pair is here when all its
seeds are done.
"""


def write(out: Path, found: Found) -> Path:
    """Write evidence.md and a figure for each table; return the page's path."""
    lines = [HEAD, *row('table', 'runs done, but for choices', 'of', heading=True)]
    for table in TABLES:
        runs = table.runs(found)
        lines += row(table.title, sum(run is not None and run.key() in found for run in runs), len(runs))
    for table in TABLES:
        if compared := list(differences(table, found)):
            figure = f'{re.sub("[^a-z0-9]+", "_", table.title.lower()).strip("_")}.png'
            draw(compared).savefig(out / figure, dpi=110)
            verdicts = sum(len(gains) for _, gains in compared)
            by_chance = f'{verdicts} verdicts; by chance alone one in twenty would not be "not told apart".'
            lines += ['', f'## {table.title}\n', *accuracy_rows(table, [pair for pair, _ in compared], found), '']
            lines += [by_chance if table.seeds > 1 else 'One seed each, and no verdicts.', '']
            lines += [*gain_rows(compared), '', f'![Differences in the mean over 1, 2, 5 and 20 labels]({figure})']
    (out / 'evidence.md').write_text('\n'.join([*lines, '']))
    return out / 'evidence.md'


def differences(table: Table, found: Found) -> Iterator[tuple[Pair, dict[str, Difference]]]:
    """Yield each pair whose seeds are all done, with its differences by measure."""
    for pair in table.pairs:
        own, host = table.results(pair.method, 1, found), table.results(pair.host, pair.length, found)
        seeds = sorted(own.keys() & host.keys())
        if len(seeds) < table.seeds:
            continue
        one, other = (
            [unpacked(results[seed]['answers'][results[seed]['encoder']]) for seed in seeds] for results in (own, host)
        )
        shared = accuracies(one[0]).keys() & accuracies(other[0]).keys()
        yield pair, {name: difference(one, other, name) for name in JUDGED if name in shared}


def accuracy_rows(table: Table, pairs: list[Pair], found: Found) -> Iterator[str]:
    """Yield the lines of all rows; a method's first says which baselines it is below, by judged measure."""
    yield from row('', 'settings', 'encoder', 'seeds', *MEASURES.values(), 'steps', 'hours', 'below', heading=True)
    baselines: dict[str, dict[str, float]] = {}
    for method, length in replace(table, pairs=tuple(pairs)).rows:
        results = list(table.results(method, length, found).values())
        if not results:
            continue
        judged = results[0]['encoder']
        measured = [name for name in JUDGED if name == NAMED or name in results[0]['accuracies'][judged]]
        means = {name: statistics.mean(accuracy(one, name) for one in results) for name in measured}
        below = ''
        if method in table.baselines:
            baselines[method] = means
        else:
            below = '; '.join(filter(None, (above(means, name, baselines) for name in means)))
        hours = f'{statistics.mean(one["seconds"] for one in results) / 3600:.2f}'
        settings = ', '.join(f'{name} {value:g}' for name, value in results[0]['settings'])
        for encoder in (judged, *sorted({*results[0]['accuracies']} - {judged})):
            by_measure = [one['accuracies'][encoder] for one in results]
            cells = [mean_and_spread([one[name] for one in by_measure if name in one]) for name in MEASURES]
            cells += [str(results[0].get('steps', '')), hours, below if encoder == judged else '']
            yield from row(label(method, length), settings, encoder, len(results), *cells)


def above(means: dict[str, float], measure: str, baselines: dict[str, dict[str, float]]) -> str:
    """Name a measure and the baselines that are better in it, if there are any."""
    names = [name for name, theirs in baselines.items() if means[measure] < theirs.get(measure, 0)]
    return f'{MEASURES[measure]}: {", ".join(names)}' if names else ''


def gain_rows(compared: list[tuple[Pair, dict[str, Difference]]]) -> Iterator[str]:
    yield from row('method', 'beside', 'seeds', *(MEASURES[name] for name in JUDGED), 'paper', heading=True)
    for pair, gains in compared:
        cells = [str(gains[name]) if name in gains else '' for name in JUDGED]
        yield from row(pair.method, label(pair.host, pair.length), len(gains[NAMED].by_seed), *cells, pair.papers)


def label(method: str, length: float) -> str:
    return method if length == 1 else f'{method}, {length:g} x epochs'


def mean_and_spread(values: list[float]) -> str:
    spread = f' ± {statistics.stdev(values):.1f}' if len(values) > 1 else ''
    return f'{statistics.mean(values):.1f}{spread}' if values else ''


def row(*cells: object, heading: bool = False) -> list[str]:
    line = f'| {" | ".join(map(str, cells))} |'
    return [line, '|' + '---|' * len(cells)] if heading else [line]


def draw(compared: list[tuple[Pair, dict[str, Difference]]]) -> Figure:
    """Draw the differences in the named measure, their intervals, and every seed."""
    figure = Figure(figsize=(9, 1 + 0.35 * len(compared)), layout='constrained')
    axis = figure.subplots()
    for place, (_, gains) in enumerate(compared):
        gain = gains[NAMED]
        axis.plot(gain.by_seed, [place] * len(gain.by_seed), '.', color='0.6')
        axis.errorbar(gain.mean, place, xerr=gain.high - gain.mean, fmt='o', capsize=3, color='C0')
    axis.axvline(0, color='0.3', linewidth=0.8)
    axis.set_yticks(range(len(compared)), [f'{pair.method} - {label(pair.host, pair.length)}' for pair, _ in compared])
    axis.set_ylim(len(compared) - 0.5, -0.5)
    axis.set_xlabel('points, mean of 1, 2, 5 and 20 labels per class\n(95 % interval; dots are seeds)')
    return figure
