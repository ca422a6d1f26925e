"""The page of evidence.py: what the runs found, and when the rule of evidence_statistics.py tells methods apart."""

import json
import re
import statistics
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from evidence_measures import Right, unpacked
from evidence_statistics import MEASURES, NAMED, Difference, accuracies, difference
from evidence_tables import TABLES, Found, Pair, Table
from matplotlib.figure import Figure

JUDGED = (NAMED, 'nearest', 'linear', 'tuned')
HEAD = """# Evidence: the tables

Written by `tools/benchmark/evidence.py`; [evidence.md](../evidence.md) has the ruler and the rule. Accuracies in
percent, mean ± standard deviation over seeds; verdicts are about the encoder that `mixcl embed` takes. Differences are
paired by seed, with their 95 % interval; "better" and "worse" mean that it excludes 0.
"""


def write(out: Path, found: Found) -> Path:
    """Write evidence.md, a figure for each table, and evidence.json; where the page is."""
    out.mkdir(parents=True, exist_ok=True)
    lines, rows = [HEAD], []
    for table in TABLES:
        compared = list(differences(table, found))
        if not compared:
            continue
        named = [(pair, gains[NAMED]) for pair, gains in compared if NAMED in gains]
        figure = f'{re.sub("[^a-z0-9]+", "_", table.title.lower()).strip("_")}.png'
        draw(named).savefig(out / figure, dpi=110)
        verdicts = sum(len(gains) for _, gains in compared)
        of_chance = f'{verdicts} verdicts; by chance alone one in twenty would not be "not told apart".\n'
        lines += [f'## {table.title}\n', *accuracy_rows(table, [pair for pair, _ in compared], found), '']
        lines += [of_chance if table.seeds > 1 else 'One seed each, and no verdicts.\n']
        lines += [*gains_of(compared), '', f'![Differences in the mean over 1, 2, 5 and 20 labels]({figure})\n']
        rows += [dict(table=table.title, **pair._asdict(), gains={name: gain._asdict() for name, gain in gains.items()})
                 for pair, gains in compared]  # fmt: skip
    (out / 'evidence.json').write_text(json.dumps(rows, indent=1) + '\n')
    (out / 'evidence.md').write_text('\n'.join(lines))
    return out / 'evidence.md'


def answers(result: dict[str, Any]) -> Right:
    """Of the encoder that verdicts are about."""
    return unpacked(result['answers'][result['encoder']])


def differences(table: Table, found: Found) -> Iterator[tuple[Pair, dict[str, Difference]]]:
    """By pair of which all seeds are done, what its measures say."""
    for pair in table.pairs:
        own, host = table.results(pair.method, 1, found), table.results(pair.host, pair.length, found)
        seeds = sorted({*own} & {*host})
        if len(seeds) < table.seeds:
            continue
        one, other = ([answers(results[seed]) for seed in seeds] for results in (own, host))
        shared = accuracies(one[0]).keys() & accuracies(other[0]).keys()
        yield pair, {name: difference(one, other, name) for name in JUDGED if name in shared}


def label(method: str, length: float) -> str:
    return method if length == 1 else f'{method}, {length:g} x epochs'


def accuracy_rows(table: Table, pairs: list[Pair], found: Found) -> Iterator[str]:
    """A line per baseline and method of the pairs, which says of a method which baselines it is below in the named
    measure.
    """
    yield from head('', 'settings', 'encoder', 'seeds', *MEASURES.values(), 'steps', 'hours', 'below')
    means: dict[str, float] = {}
    for method, length in replace(table, pairs=tuple(pairs)).rows:
        results = list(table.results(method, length, found).values())
        if not results:
            continue
        named = statistics.mean(one['named'] for one in results)
        if method in table.baselines:
            means[method] = named
        below = ', '.join(name for name, mean in means.items() if method not in means and named < mean)
        hours = f'{statistics.mean(one["seconds"] for one in results) / 3600:.2f}'
        judged = results[0]['encoder']
        for encoder in (judged, *sorted({*results[0]['accuracies']} - {judged})):
            found_by = [one['accuracies'][encoder] for one in results]
            cells = [
                mean_and_spread([one[name] for one in found_by]) if name in found_by[0] else '' for name in MEASURES
            ]
            settings = ', '.join(f'{name} {value:g}' for name, value in results[0]['settings'])
            one = (label(method, length), settings, encoder, len(results))
            yield row(*one, *cells, results[0].get('steps', ''), hours, below if encoder == judged else '')


def gains_of(compared: list[tuple[Pair, dict[str, Difference]]]) -> Iterator[str]:
    yield from head('method', 'beside', 'seeds', *(MEASURES[name] for name in JUDGED), 'paper')
    for pair, gains in compared:
        cells = [words(gains[name]) if name in gains else '' for name in JUDGED]
        seeds = len(next(iter(gains.values())).by_seed)
        yield row(pair.method, label(pair.host, pair.length), seeds, *cells, pair.papers)


def words(gain: Difference) -> str:
    interval = f' [{gain.low:+.1f}, {gain.high:+.1f}]' if len(gain.by_seed) > 1 else ''
    return f'{gain.mean:+.1f}{interval} {gain.verdict}'


def mean_and_spread(values: list[float]) -> str:
    if not values:  # not measured
        return ''
    return f'{statistics.mean(values):.1f}' + (f' ± {statistics.stdev(values):.1f}' if len(values) > 1 else '')


def head(*names: str) -> list[str]:
    return [row(*names), row(*['---'] * len(names))]


def row(*cells: object) -> str:
    return f'| {" | ".join(map(str, cells))} |'


def draw(gains: list[tuple[Pair, Difference]]) -> Figure:
    """The differences in the named measure, their intervals, and every seed."""
    figure = Figure(figsize=(7, 1 + 0.35 * len(gains)), layout='constrained')
    axis = figure.subplots()
    for place, (_, gain) in enumerate(gains):
        axis.plot(gain.by_seed, [place] * len(gain.by_seed), '.', color='0.6')
        axis.errorbar(
            gain.mean, place, xerr=[[gain.mean - gain.low], [gain.high - gain.mean]], fmt='o', capsize=3, color='C0'
        )
    axis.axvline(0, color='0.3', linewidth=0.8)
    axis.set_yticks(range(len(gains)), [f'{pair.method} - {label(pair.host, pair.length)}' for pair, _ in gains])
    axis.invert_yaxis()
    axis.set_xlabel('points, mean over 1, 2, 5 and 20 labels per class\n(95 % interval; dots are seeds)')
    return figure
