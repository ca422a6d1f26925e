"""Curves of one run or several, read from their logs."""

import json
from collections.abc import Callable, Sequence
from itertools import cycle
from pathlib import Path
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from mixcl.errors import UserError
from mixcl.visualization.canvas import PALETTE, finished, plain

FEW = 30
"""Number of points below which a curve has markers: a run of one epoch has no line."""

STYLES = ('-', '--', '-.', ':')
PANELS: dict[str, tuple[str, Callable[[str], bool]]] = {
    'loss terms (query_key, weighted)': ('loss', lambda name: name.startswith('loss_')),
    'kNN and online probe during pretraining': ('accuracy (%)', lambda name: name.endswith('_top1')),
    'loss of the first term / chance level': ('1 is guessing', lambda name: name == 'chance_ratio'),
    'effective rank of features, RankMe': ('dimensions', lambda name: name in ('effective_rank', 'rankme')),
    'learning rate': ('', lambda name: name == 'lr'),
    'time spent waiting for data': ('share of a step', lambda name: name == 'data_wait'),
}
"""Label of the y axis, and scalars of the log that are drawn, by panel."""


def curves_figure(work_dirs: Sequence[str | Path], by: str = 'epoch', labels: Sequence[str] | None = None) -> Figure:
    """Draw loss terms, kNN and probe, the first term against its chance level, ranks, learning rate and data wait.

    Each work dir shows its newest run, with what it continued (``--resume``). Panels without values are left out.

    Args:
        work_dirs: where the time-stamped folders of the runs lie.
        by: the x axis: 'epoch', 'step', or 'hour' of training.
        labels: names of the runs; by default those of their folders, or paths where two folders have one name.

    Raises:
        UserError: if a work dir has no log.
    """
    names_of_runs = labels or labels_of([*map(Path, work_dirs)])
    runs = {label: points_of(read_log(folder), by) for label, folder in zip(names_of_runs, work_dirs, strict=True)}
    names = sorted({name for points in runs.values() for name in points})
    panels = [panel for panel, (_, chosen) in PANELS.items() if any(map(chosen, names))]
    columns = min(3, len(panels))
    rows = -(-len(panels) // columns)
    figure = Figure(figsize=(4.6 * columns, 3.4 * rows), layout='constrained')
    axes = figure.subplots(rows, columns, squeeze=False).flatten()
    for axis in axes[len(panels) :]:
        axis.axis('off')
    for axis, panel in zip(axes, panels, strict=False):
        ylabel, chosen = PANELS[panel]
        _draw(axis, runs, [name for name in names if chosen(name)])
        axis.set(xlabel='step' if by == 'epoch' and by not in names else by, ylabel=ylabel, title=panel)
        if panel.endswith('chance level'):
            axis.axhline(1, color='#999999', linestyle=':', label='chance')
        if len(axis.lines) > 1 and axis.get_legend_handles_labels()[1]:
            axis.legend(fontsize=6, framealpha=0.5)
        axis.grid(alpha=0.3)
    if len(runs) > 1:
        colours = [Line2D([], [], color=PALETTE[n % len(PALETTE)], label=plain(run)) for n, run in enumerate(runs)]
        figure.legend(handles=colours, loc='outside upper left', fontsize=8)
    return finished(figure)


def labels_of(folders: Sequence[Path]) -> list[str]:
    """Return a label for each folder of a run: its name, or its path where two have one name."""
    names = [folder.resolve().name for folder in folders]
    return [name if names.count(name) == 1 else str(folder) for name, folder in zip(names, folders, strict=True)]


def _draw(axis: Axes, runs: dict[str, Any], names: Sequence[str]) -> None:
    """Draw one run with a colour per curve, or several with a colour per run and a style per curve."""
    labels = [name.removeprefix('loss_').removesuffix('_top1').replace('chance_ratio', 'first term') for name in names]
    for number, points in enumerate(runs.values()):
        colours = cycle(PALETTE) if len(runs) == 1 else cycle([PALETTE[number % len(PALETTE)]])
        styles = cycle(STYLES[:1] if len(runs) == 1 else STYLES)
        for name, label, colour, style in zip(names, labels, colours, styles, strict=False):
            if name in points:
                marker = 'o' if len(points[name]) < FEW else None
                label = label if len(runs) == 1 else ''
                axis.plot(*zip(*points[name], strict=True), style, color=colour, marker=marker, ms=4, label=label)
    for label, style in zip(labels, cycle(STYLES), strict=False) if len(runs) > 1 and len(names) > 1 else ():
        axis.plot([], [], style, color='0.3', label=label)


def read_log(work_dir: str | Path) -> list[dict[str, Any]]:
    """Read the lines of a run, in order, without those that a later start did again; add its folder as ``start``.

    Raises:
        UserError: if no training is logged.
    """
    lines: list[dict[str, Any]] = []
    for path in sorted(Path(work_dir).glob('*/vis_data/scalars.json')):
        start = str(path.parents[1])
        new = [{**json.loads(line), 'start': start} for line in path.read_text().splitlines() if line.endswith('}')]
        begin = next((line for line in new if 'loss' in line), None)
        if begin is not None:
            kept = [line for line in lines if 'loss' in line and line['step'] < begin['step']]
            epochs = kept[-1].get('epoch', kept[-1]['step']) if kept else 0
            lines = [x for x in lines if x in kept or ('loss' not in x and x['step'] <= epochs)] + new
    if not any('loss' in line for line in lines):
        raise UserError(f'{work_dir} has no log of a training (*/vis_data/scalars.json); give the folder of a run')
    return lines


def points_of(lines: list[dict[str, Any]], by: str) -> dict[str, list[tuple[float, float]]]:
    """Return the points of every curve.

    Evaluations log only their epoch, so they lie where its last step was logged. Runs that count only steps have these
    in place of epochs.
    """
    points: dict[str, list[tuple[float, float]]] = {}
    step = hours = 0.0
    for line in lines:
        if 'loss' in line:
            hours += line.get('time', 0.0) * (line['step'] - step) / 3600
            step = line['step']
            place = dict(epoch=line.get('epoch', step), step=step, hour=hours)[by]
        else:
            place = line['step'] if by == 'epoch' else dict(step=step, hour=hours)[by]
        for name, value in line.items():
            if isinstance(value, (int, float)):
                points.setdefault(name, []).append((place, value))
    return points
