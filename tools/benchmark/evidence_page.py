"""The page of tools/benchmark/evidence.py: what the runs found, paired with their hosts, and the papers beside it."""

import re
import statistics
from collections.abc import Mapping, Sequence
from typing import Any

from evidence_rows import Pair, Papers, Run, Table

MEASURES = dict(
    knn='kNN', linear='linear', few1_logistic='1 label', few5_logistic='5 labels', few20_logistic='20 labels'
)
"""Shown of all, by their names in results; in percent."""

Found = Mapping[str, dict[str, Any]]


def last(result: Mapping[str, Any]) -> dict[str, float]:
    """Of a run, what its last evaluation found."""
    return result['curve'][max(result['curve'], key=int)]


def encoders(results: Sequence[Mapping[str, Any]]) -> list[str]:
    """Those that all of the results have, the EMA encoder first."""
    return [name for name in ('target', 'online') if results and all(f'{name}_knn' in last(one) for one in results)]


def pairs_of(table: Table, pair: Pair, variant: str, found: Found) -> list[tuple[dict, dict]]:
    """Results of the method and of its host with one seed, of the seeds for which both are done."""
    runs = [(table.run(pair.method, variant, seed), table.run(pair.host, variant, seed)) for seed in table.seeds]
    return [(found[own.name], found[host.name]) for own, host in runs if own.name in found and host.name in found]


def differences(pairs: Sequence[tuple[dict, dict]], name: str) -> list[float]:
    """Points by which methods are ahead of their hosts in a measure, by seed."""
    return [last(own)[name] - last(host)[name] for own, host in pairs]


def over_draws(pairs: Sequence[tuple[dict, dict]], name: str) -> list[float]:
    """The same, by draw of labels: the mean over the seeds of what each draw says."""
    return [
        statistics.mean(values)
        for values in zip(*([a - b for a, b in zip(own['draws'][name], host['draws'][name], strict=True)]
                            for own, host in pairs), strict=True)
    ]  # fmt: skip


def verdict(gains: Sequence[float], papers: Papers | None) -> str:
    """Whether our order is the papers', by more than the spread over seeds."""
    if papers is None or papers.measure == 'other':
        return 'no number of this measure'
    if len(gains) < 2:
        return 'one seed'
    mean = statistics.mean(gains)
    if abs(mean) <= statistics.stdev(gains):
        return 'too close to tell'
    return 'agrees' if (mean > 0) == (papers.difference > 0) else '**differs**'


def mean_and_spread(values: Sequence[float], sign: str = '') -> str:
    """Mean and sample standard deviation; ``sign='+'`` for differences."""
    mean = f'{statistics.mean(values):{sign}.1f}'
    return f'{mean} ± {statistics.stdev(values):.1f}' if len(values) > 1 else mean


def rows_of(tables: Sequence[Table], found: Found) -> list[dict[str, Any]]:
    """Every comparison for which a seed is done, with plain values."""
    rows = []
    for table in tables:
        for variant in table.variants:
            for pair in table.pairs:
                both = pairs_of(table, pair, variant, found)
                for encoder in encoders([one for two in both for one in two]):
                    rows.append(_row(table, variant, pair, both, encoder))
    return rows


def _row(table: Table, variant: str, pair: Pair, both: list[tuple[dict, dict]], encoder: str) -> dict[str, Any]:
    row: dict[str, Any] = dict(
        table=table.title, variant=variant, method=pair.method, host=pair.host, encoder=encoder, seeds=len(both)
    )
    for name, words in MEASURES.items():
        gains = differences(both, f'{encoder}_{name}')
        row[words] = mean_and_spread(gains, '+')
        row[f'{name}_by_seed'] = [round(gain, 2) for gain in gains]
    papers = pair.papers
    row['papers'] = f'{papers.difference:+.1f} ({papers.source})' if papers else ''
    measure = papers.measure if papers and papers.measure != 'other' else 'knn'
    row['order'] = verdict(row[f'{measure}_by_seed'], papers)
    row['draws, 1 label'] = mean_and_spread(over_draws(both, f'{encoder}_few1_logistic'), '+')
    return row


def page(tables: Sequence[Table], found: Found, left: Sequence[tuple[str, str, float]]) -> str:
    """The whole page; ``left`` has row, state and hours of what is left of it."""
    rows = rows_of(tables, found)
    counted = list(_orders(tables, rows).values())
    orders = {word: counted.count(word) for word in ('agrees', '**differs**', 'too close to tell', 'one seed')}
    waiting = [f'| {row} | {words} | {hours:.1f} |' for row, words, hours in left if hours]
    lines = [
        '# Evidence: the tables',
        '',
        'Written by `python tools/benchmark/evidence.py` (docs/evidence.md); `--only NAME` does one row. Accuracies in '
        'percent, mean ± standard deviation over seeds, at the end of a run, of frozen features; gains are paired by '
        'seed. "Labels" are logistic regressions on so many labels per class, over 40 draws that all runs share. '
        'Held-out tables are on training images that the run did not see.',
        '',
        'Order of method and host, by the measure of the papers: '
        + ', '.join(f'{number} {word.strip("*")}' for word, number in orders.items())
        + ' (a comparison counts once for each encoder).',
    ]
    for table in tables:
        own = [row for row in rows if row['table'] == table.title]
        if any(run.name in found for run in table.runs()):
            lines += [
                '',
                f'## {table.title}',
                '',
                *_accuracies(table, found),
                '',
                *_gains(own),
                '',
                *([f'![By epoch]({figure_name(table)})'] if has_figure(table, found) else _curves(table, found)),
            ]
    lines += ['', '## Waiting', '', f'{sum(hours for *_, hours in left):.0f} hours of one run at a time.', '']
    return '\n'.join([*lines, *_markdown(('row', 'state', 'hours')), *waiting]) + '\n'


def _orders(tables: Sequence[Table], rows: Sequence[Mapping[str, Any]]) -> dict[tuple[str, str, str], str]:
    """Verdicts by what is compared: two tables may have the same runs, the first of them counts."""
    named = {table.title: table for table in tables}
    orders: dict[tuple[str, str, str], str] = {}
    for row in rows:
        own, host = (named[row['table']].run(row[part], row['variant'], 0).row for part in ('method', 'host'))
        orders.setdefault((own, host, row['encoder']), row['order'])
    return orders


def figure_name(table: Table) -> str:
    return f'{re.sub("[^a-z0-9]+", "_", table.title.lower()).strip("_")}.png'


def has_figure(table: Table, found: Found) -> bool:
    """Whether there is something of every method; a table of settings would have too many lines."""
    return len(table.variants) == 1 and len(groups(table, found)) == len(table.methods)


def groups(table: Table, found: Found) -> list[tuple[Run, list[dict]]]:
    """A run of every row of a table, and the row's results, where there are any."""
    groups = []
    for variant in table.variants:
        for method in table.methods:
            runs = [table.run(method, variant, seed) for seed in table.seeds]
            results = [found[run.name] for run in runs if run.name in found]
            groups += [(runs[0], results)] if results else []
    return groups


def _accuracies(table: Table, found: Found) -> list[str]:
    lines = _markdown(('row', 'encoder', 'seeds', *MEASURES.values(), 'passes', 'steps', 'hours'))
    for run, results in groups(table, found):
        hours = statistics.mean(one['seconds'] for one in results) / 3600
        for encoder in encoders(results):
            cells = [mean_and_spread([last(one)[f'{encoder}_{name}'] for one in results]) for name in MEASURES]
            passes = ' + '.join(map(str, results[0]['passes']))
            words = [run.row, encoder, len(results), *cells, passes, results[0]['steps'], f'{hours:.2f}']
            lines.append(f'| {" | ".join(map(str, words))} |')
    return lines


def _gains(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    if not rows:
        return ['No method and its host are done with one seed yet.']
    names = ('method', 'variant', 'host', 'encoder', 'seeds', *MEASURES.values(), 'draws, 1 label', 'papers', 'order')
    return [*_markdown(names), *(f'| {" | ".join(str(row[name]) for name in names)} |' for row in rows)]


def _curves(table: Table, found: Found) -> list[str]:
    """kNN and one label by epoch: whether a curve is flat at its end."""
    lines = ['Means over seeds by epoch, kNN / 1 label:', '']
    for run, results in groups(table, found):
        encoder = encoders(results)[0]
        epochs = sorted(set.intersection(*(set(one['curve']) for one in results)), key=int)
        points = []
        for epoch in epochs:
            means = [statistics.mean(one['curve'][epoch][f'{encoder}_{name}'] for one in results)
                     for name in ('knn', 'few1_logistic')]  # fmt: skip
            points.append(f'{epoch}: {means[0]:.1f} / {means[1]:.1f}')
        lines.append(f'- {run.row}, {encoder}: {", ".join(points)}')
    return lines


def _markdown(names: Sequence[str]) -> list[str]:
    return [f'| {" | ".join(names)} |', '|---' * len(names) + '|']
