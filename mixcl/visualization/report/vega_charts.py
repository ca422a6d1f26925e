"""Curves and maps as charts of Vega-Lite, which its own JavaScript draws within the page."""

import importlib.util
import io
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from PIL import Image

from mixcl.errors import UserError
from mixcl.visualization.canvas import MARKERS, PALETTE, visible
from mixcl.visualization.curves import FEW, PANELS
from mixcl.visualization.gallery import displayed
from mixcl.visualization.map_figure import MOST_NAMES, FeatureMap
from mixcl.visualization.pictured import Pictured
from mixcl.visualization.report.blocks import Block, data_address

MOST_POINTS = 400
"""Of a curve."""

THUMBNAIL = 48
"""Pixels."""

WORDS = 'circle triangle-up square diamond triangle-down cross triangle-left triangle-right'
SHAPES = dict(zip(MARKERS, WORDS.split(), strict=True))
"""Vega's, by matplotlib's markers."""

ZOOM = 'wheel![event.ctrlKey || event.metaKey]'
"""Without a key the wheel scrolls the page."""

MOVED = dict(name='moved', bind='scales', select=dict(type='interval', zoom=ZOOM))


def javascript() -> str | None:
    """What draws the charts; None where it is not installed."""
    if importlib.util.find_spec('vl_convert') is None:
        return None
    return importlib.import_module('vl_convert').javascript_bundle()


def curve_charts(runs: Mapping[str, Mapping[str, Sequence[tuple[float, float]]]]) -> list[Block]:
    """A chart for each panel; ``runs`` has the points (epoch, value) of every curve, by the label of the run."""
    charts = []
    for title, (label, chosen) in PANELS.items():
        rows = []
        for run, points in runs.items():
            for name in filter(chosen, points):
                curve = name.removeprefix('loss_').removesuffix('_top1')
                finite = [(place, value) for place, value in points[name] if math.isfinite(value)]
                few = finite[: -1 : -(-len(finite) // MOST_POINTS) or 1] + finite[-1:]
                rows += [dict(run=run, curve=curve, epoch=place, value=float(f'{value:.5g}')) for place, value in few]
        if rows:
            charts.append(Block('chart', _curves(rows, label, 'curve' if len(runs) == 1 else 'run'), title))
    return charts


def _curves(rows: list[dict], label: str, by: str) -> dict[str, Any]:
    """One run has a colour per curve, several have a colour per run and a dash per curve."""
    names, curves = (list(dict.fromkeys(row[key] for row in rows)) for key in (by, 'curve'))
    legend = dict(orient='bottom', columns=2, labelLimit=150, title=None)
    encoding: dict[str, Any] = dict(
        x=dict(field='epoch', type='quantitative', axis=dict(tickMinStep=1, tickCount=6)),
        y=dict(field='value', type='quantitative', title=label or None, scale=dict(zero=False)),
        color=_styled(by, names, PALETTE, legend if len(names) > 1 else None),
    )
    if by == 'run' and len(curves) > 1:
        encoding['strokeDash'] = dict(field='curve', type='nominal', legend=legend)
    few = max(Counter((row['run'], row['curve']) for row in rows).values()) < FEW
    tooltip = [dict(field=name) for name in ('run', 'curve', 'epoch', 'value')]
    line = dict(type='line', clip=True, point=few)
    layers = [
        dict(mark=line, params=[_shown(by), MOVED], encoding=dict(opacity=_faint(1))),
        dict(mark=dict(type='point', filled=True, size=150, opacity=0, clip=True), encoding=dict(tooltip=tooltip)),
    ]
    return dict(data=dict(values=rows), width='container', height=200, encoding=encoding, layer=layers)


def map_chart(found: FeatureMap, pictured: Pictured) -> Block:
    """A map in which each point shows its image under the pointer.

    Raises:
        UserError: if there is no map, since all features are the same.
    """
    if not found.points.isfinite().all():
        raise UserError('the features of all images are the same, so there is no map of them')
    rows = [
        dict(x=round(x, 3), y=round(y, 3), group=found.name(group), image=_thumbnail(found, number, pictured))
        for number, ((x, y), group) in enumerate(zip(found.points.tolist(), found.groups.tolist(), strict=True))
    ]
    # Black becomes the colour of the text, which is light on dark pages.
    styles = {found.name(one): (c.replace('#000000', 'currentColor'), m) for one, (c, m) in found.styles().items()}
    legend = dict(orient='bottom', columns=5, labelLimit=110, title=None) if len(styles) <= MOST_NAMES else None
    place = dict(type='quantitative', axis=None, scale=dict(zero=False))
    encoding = dict(
        x=dict(field='x', **place),
        y=dict(field='y', **place),
        color=_styled('group', list(styles), [colour for colour, _ in styles.values()], legend),
        shape=_styled('group', list(styles), [SHAPES[marker] for _, marker in styles.values()], legend),
        opacity=_faint(0.75),
        tooltip=[dict(field='image'), dict(field='group')],
    )
    spec = dict(data=dict(values=rows), width='container', height=440, params=[_shown('group'), MOVED])
    return Block(
        'chart',
        {**spec, 'mark': dict(type='point', filled=True, size=45, clip=True), 'encoding': encoding},
        found.title,
    )


def _thumbnail(found: FeatureMap, number: int, pictured: Pictured) -> str:
    (image,) = displayed(pictured.config, found.gallery.images([number]))
    thumbnail = Image.fromarray((visible(image) * 255).round().byte().numpy())
    thumbnail.thumbnail((THUMBNAIL, THUMBNAIL))
    file = io.BytesIO()
    thumbnail.save(file, 'webp', quality=70, lossless=max(thumbnail.size) < THUMBNAIL)
    return data_address(file.getvalue(), 'webp')


def _styled(field: str, names: Sequence[str], styles: Sequence[str], legend: dict | None) -> dict[str, Any]:
    return dict(field=field, type='nominal', scale=dict(domain=names, range=styles), legend=legend)


def _shown(field: str) -> dict[str, Any]:
    return dict(name='shown', select=dict(type='point', fields=[field]), bind='legend')


def _faint(otherwise: float) -> dict[str, Any]:
    """Faint is what was not chosen in the legend."""
    return dict(condition=dict(param='shown', value=otherwise), value=0.07)
