"""Curves and maps as charts of Vega-Lite, which its own JavaScript draws within the page."""

import io
import math
from collections.abc import Mapping, Sequence
from typing import Any

from PIL import Image

from mixcl.errors import UserError
from mixcl.visualization.canvas import PALETTE, visible
from mixcl.visualization.curves import PANELS
from mixcl.visualization.gallery import displayed
from mixcl.visualization.map_figure import MOST_NAMES, FeatureMap
from mixcl.visualization.pictured import Pictured
from mixcl.visualization.report.blocks import Block, data_address

Spec = dict[str, Any]
Points = Mapping[str, Sequence[tuple[float, float]]]

MOST_POINTS = 400
"""Of a curve."""

THUMBNAIL = 48
"""Pixels."""

SHAPES = {'o': 'circle', '^': 'triangle-up', 's': 'square', 'D': 'diamond', 'v': 'triangle-down', 'P': 'cross',
          'X': 'triangle-left', '*': 'triangle-right'}  # fmt: skip
"""Vega's, by matplotlib's markers."""

MOVING = dict(
    name='moved', bind='scales', select=dict(type='interval', zoom='wheel![event.ctrlKey || event.metaKey]')
)
"""Dragging moves, and the wheel with Ctrl zooms: without it the page is to scroll."""


def javascript() -> str | None:
    """What draws the charts; None where it is not installed."""
    try:
        import vl_convert
    except ImportError:
        return None
    return vl_convert.javascript_bundle()


def curve_charts(runs: Mapping[str, Points]) -> list[Block]:
    """A chart for each panel that has values, with the curves of all runs.

    Args:
        runs: the points (epoch, value) of every curve, by the label of the run.
    """
    charts = []
    for title, (label, chosen) in PANELS.items():
        rows = [
            dict(run=run, curve=name.removeprefix('loss_').removesuffix('_top1'), epoch=epoch, value=float(f'{value:.5g}'))
            for run, points in runs.items()
            for name in filter(chosen, points)
            for epoch, value in _thinned([point for point in points[name] if math.isfinite(point[1])])
        ]
        if rows:
            charts.append(Block('chart', _curves(rows, label, len(runs), 'chance' in title), title))
    return charts


def _thinned(points: list[tuple[float, float]]) -> list[tuple[float, float]]:
    return points[:: max(1, len(points) // MOST_POINTS)][:-1] + points[-1:]


def _curves(rows: list[dict], label: str, runs: int, chance: bool) -> Spec:
    by = 'curve' if runs == 1 else 'run'
    legend = dict(orient='bottom', columns=2, labelLimit=150, title=None)
    names = list(dict.fromkeys(row[by] for row in rows))
    colour = dict(field=by, type='nominal', scale=dict(domain=names, range=PALETTE),
                  legend=legend if len(names) > 1 else None)  # fmt: skip
    encoding: Spec = dict(
        x=dict(field='epoch', type='quantitative', axis=dict(tickMinStep=1, tickCount=6)),
        y=dict(field='value', type='quantitative', title=label or None, scale=dict(zero=False)),
        color=colour,
    )
    if runs > 1 and len({row['curve'] for row in rows}) > 1:
        encoding['strokeDash'] = dict(field='curve', type='nominal', legend=legend)
    shown = dict(name='shown', select=dict(type='point', fields=[by]), bind='legend')
    near = dict(name='near', select=dict(type='point', nearest=True, on='pointerover', clear='pointerout'))
    tooltip = [dict(field=name) for name in ('run', 'curve', 'epoch', 'value') if name != 'run' or runs > 1]
    visible_ = dict(condition=dict(param='shown', value=1), value=0.1)
    point = dict(opacity=dict(condition=dict(param='near', empty=False, value=1), value=0), tooltip=tooltip)
    layers: list[Spec] = [
        dict(mark='line', params=[shown, MOVING], encoding=dict(opacity=visible_)),
        dict(mark=dict(type='point', filled=True, size=60), params=[near], encoding=point),
    ]
    if chance:
        layers.append(dict(mark=dict(type='rule', strokeDash=[4, 4], color='gray'), data=dict(values=[{}]),
                           encoding=dict(x=dict(), y=dict(datum=1), color=dict(value='gray'))))  # fmt: skip
    return dict(data=dict(values=rows), width='container', height=200, encoding=encoding, layer=layers)


def map_chart(found: FeatureMap, pictured: Pictured) -> Block:
    """A map in which each point shows its image under the pointer.

    Raises:
        UserError: if there is no map, since all features are the same.
    """
    if not found.points.isfinite().all():
        raise UserError('the features of all images are the same, so there is no map of them')
    styles = {found.name(group): style for group, style in found.styles().items()}
    pictures = _thumbnails(found, pictured)
    rows = [
        dict(x=round(x, 3), y=round(y, 3), group=found.name(group), image=address)
        for (x, y), group, address in zip(found.points.tolist(), found.groups.tolist(), pictures, strict=True)
    ]
    title = 'cluster' if found.clustered else 'class'
    legend = dict(orient='bottom', columns=5, labelLimit=110) if len(styles) <= MOST_NAMES else None

    def scale(values: Sequence[str]) -> Spec:
        return dict(field='group', type='nominal', title=title, legend=legend,
                    scale=dict(domain=list(styles), range=values))  # fmt: skip

    place = dict(type='quantitative', axis=None, scale=dict(zero=False))
    encoding = dict(
        x=dict(field='x', **place),
        y=dict(field='y', **place),
        color=scale([colour for colour, _ in styles.values()]),
        shape=scale([SHAPES[marker] for _, marker in styles.values()]),
        opacity=dict(condition=dict(param='shown', value=0.75), value=0.06),
        tooltip=[dict(field='image'), dict(field='group', title=title)],
    )
    shown = dict(name='shown', select=dict(type='point', fields=['group']), bind='legend')
    spec = dict(data=dict(values=rows), width='container', height=440, params=[shown, MOVING], encoding=encoding,
                mark=dict(type='point', filled=True, size=45))  # fmt: skip
    return Block('chart', spec, found.title)


def _thumbnails(found: FeatureMap, pictured: Pictured) -> list[str]:
    addresses = []
    for number in range(len(found.points)):
        (image,) = displayed(pictured.config, found.gallery.images([number]))
        thumbnail = Image.fromarray((visible(image) * 255).round().byte().numpy())
        thumbnail.thumbnail((THUMBNAIL, THUMBNAIL))
        file = io.BytesIO()
        thumbnail.save(file, 'webp', quality=70, lossless=max(thumbnail.size) < THUMBNAIL)
        addresses.append(data_address(file.getvalue(), 'webp'))
    return addresses
