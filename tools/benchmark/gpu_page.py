"""The page of tools/benchmark/gpu_day.py: what was found, and the goals beside it."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

Rows = list[dict[str, Any]]
STEP_S, STEP_B = 'step ViT-S/16, bf16', 'step ViT-B/16, bf16'


def fastest(rows: Rows) -> dict[str, Any]:
    """The eager or the compiled step."""
    return min(rows, key=lambda row: row['seconds'])


def phase(*names: str) -> Callable[[Rows], float]:
    return lambda rows: sum(fastest(rows)['phases'][name] for name in names)


def column(name: str, worst: Callable[[Iterable[float]], float], **of: object) -> Callable[[Rows], float]:
    """The worst value of a column, of the rows that have such values in others."""
    return lambda rows: worst(row[name] for row in rows if all(row[key] == value for key, value in of.items()))


class Goal(NamedTuple):
    """What is to be reached: at least or at most so much of a number that an item's rows give."""

    what: str
    item: str
    measured: Callable[[Rows], float]
    least: float | None = None
    most: float | None = None


TO_8_BIT = dict(workers=0, way='mixcl to 8-bit batches')
GOALS = (
    Goal('loader to 8-bit batches, 500x375', 'loader', column('ratio', min, size='500x375', **TO_8_BIT), least=6),
    Goal(
        'the same, photometry on the CPU',
        'loader',
        column('ratio', min, size='500x375', workers=0, way='mixcl, photometry on cpu'),
        least=2,
    ),
    Goal('loader, 12 megapixels', 'loader', column('ratio', min, size='12 megapixels', **TO_8_BIT), least=10),
    Goal('ViT-S/16, fp32, times the plain step', 'step ViT-S/16, fp32', lambda rows: fastest(rows)['speed'], least=1),
    Goal('ViT-S/16, bf16, times the plain bf16 step', STEP_S, lambda rows: fastest(rows)['speed'], least=2),
    Goal('ViT-S/16, MFU', STEP_S, lambda rows: fastest(rows)['mfu'], least=0.35),
    Goal('ViT-B/16, MFU', STEP_B, lambda rows: fastest(rows)['mfu'], least=0.5),
    Goal('ViT-S/16, share of mixing, targets, losses', STEP_S, phase('mixing, targets, losses'), most=0.03),
    Goal('ViT-S/16, share of device views', STEP_S, phase('views'), most=0.06),
    Goal('ViT-S/16, share of optimiser and EMA', STEP_S, phase('optimiser, EMA'), most=0.04),
    Goal('ViT-S/16, share of hooks, log, loop', STEP_S, phase('hooks, log, loop'), most=0.01),
    Goal('evaluation, share of the bare backbone', 'evaluation', column('share', min), least=0.95),
    Goal('keep=0.5, time', 'patch dropping', column('share', max, quantity='seconds'), most=0.6),
    Goal('keep=0.5, activations', 'patch dropping', column('share', max, quantity='activations, MiB'), most=0.55),
)


def page(facts: Mapping[str, str], items: list[tuple[str, str]], records: Mapping[str, dict]) -> str:
    """The whole page.

    Args:
        facts: about the machine.
        items: (section, name) in order.
        records: by name of the item, of those that were tried.
    """
    lines = ['# A day on a GPU', '', *(f'- {name}: {value}' for name, value in facts.items())]
    for section in dict.fromkeys(section for section, _ in items):
        lines += ['', f'## {section}']
        if section == 'Fast' and 'size' not in facts:
            lines += ['', *goals(records)]
        for name in [name for part, name in items if part == section]:
            lines += ['', f'### {name}', '', *told(records.get(name))]
    return '\n'.join(lines) + '\n'


def goals(records: Mapping[str, dict]) -> list[str]:
    """Goals and measurements; of an item that failed, what it found until then."""
    lines = ['| goal | to reach | measured |', '|---|---|---|']
    for goal in GOALS:
        try:
            value = goal.measured(records.get(goal.item, {}).get('rows', []))
        except (KeyError, ValueError):  # of no rows, or of those of another version
            found = 'not yet'
        else:
            reached = value >= goal.least if goal.least is not None else value <= (goal.most or 0)
            found = f'{value:.3g}' if reached else f'**{value:.3g}, missed**'
        bound = f'at least {goal.least:g}' if goal.least is not None else f'at most {goal.most:g}'
        lines.append(f'| {goal.what} | {bound} | {found} |')
    return lines


def told(record: dict | None) -> list[str]:
    """What became of an item."""
    if record is None:
        return ['Not begun: too little time was left.']
    lines = [f'{record["status"]}, {record["seconds"]:.0f} s: `{record["command"]}`']
    if record['rows']:
        lines += ['', *table(record['rows'])]
    if any(isinstance(row.get('phases'), dict) for row in record['rows']):
        lines += ['', *table([row['phases'] for row in record['rows']])]
    if record['lines']:
        lines += ['', '```', *record['lines'], '```']
    return lines


def table(rows: Rows) -> list[str]:
    """Of all values that are numbers or texts."""
    names = [name for name, value in rows[0].items() if not isinstance(value, (dict, list))]
    body = ['| ' + ' | '.join(cell(row.get(name)) for name in names) + ' |' for row in rows]
    return ['| ' + ' | '.join(names) + ' |', '|' + '---|' * len(names), *body]


def cell(value: object) -> str:
    if isinstance(value, bool):
        return 'yes' if value else '**no**'
    return f'{value:.4g}' if isinstance(value, (int, float)) else str(value or '')
