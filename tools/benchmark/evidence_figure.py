"""The curves of a table of tools/benchmark/evidence.py: what its methods have learnt, by epoch."""

import statistics
from collections.abc import Mapping
from typing import Any

from evidence_page import encoders, groups
from evidence_rows import Table
from matplotlib.figure import Figure

from mixcl.visualization.canvas import MARKERS, PALETTE

PANELS = dict(knn='kNN', linear='linear probe', few1_logistic='one label per class', few5_logistic='five labels')
ENCODERS = dict(target='EMA', online='online')
LABELS = dict(patchmix='PatchMix', patchmix_oto='its frame, nothing mixed', mocov3='MoCo v3')


def draw(table: Table, found: Mapping[str, Any]) -> Figure:
    """Means over the seeds, one standard deviation on either side; of the online encoder, which all methods have."""
    rows = groups(table, found)
    encoder = encoders([one for _, results in rows for one in results])[-1]
    figure = Figure(figsize=(3.4 * len(PANELS), 3.2), layout='constrained')
    for axis, (measure, title) in zip(figure.subplots(1, len(PANELS)), PANELS.items(), strict=True):
        for place, (run, results) in enumerate(rows):
            name = f'{encoder}_{measure}'
            epochs = sorted(set.intersection(*(set(one['curve']) for one in results)), key=int)
            values = [[one['curve'][epoch][name] for one in results] for epoch in epochs]
            means = [statistics.mean(by_seed) for by_seed in values]
            spreads = [statistics.stdev(by_seed) if len(by_seed) > 1 else 0 for by_seed in values]
            axis.errorbar(
                [*map(int, epochs)],
                means,
                spreads,
                label=LABELS.get(run.method, run.method),
                color=PALETTE[place % len(PALETTE)],
                marker=MARKERS[(place + place // len(PALETTE)) % len(MARKERS)],
                markersize=4,
                linewidth=1.2,
                capsize=2,
            )
        axis.set(title=title, xlabel='epoch')
        axis.grid(alpha=0.3)
    figure.axes[0].set_ylabel(f'accuracy, {ENCODERS[encoder]} encoder (%)')
    if len(rows) > 6:  # would hide the curves
        figure.legend(*figure.axes[0].get_legend_handles_labels(), loc='outside right upper', fontsize=7)
    else:
        figure.axes[0].legend(fontsize=7)
    return figure
