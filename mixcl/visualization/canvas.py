"""Style of all figures, and how they are written."""

import textwrap
import warnings
from bisect import bisect
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib import font_manager
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import Colormap
from matplotlib.figure import Figure
from matplotlib.text import Text
from torch import Tensor

from mixcl.errors import UserError
from mixcl.files import check_writable

PALETTE = ('#0072B2', '#E69F00', '#009E73', '#CC79A7', '#D55E00', '#56B4E9', '#000000', '#999999')
"""Colours that people with any colour vision can tell apart (Okabe and Ito, 2008)."""

MARKERS = ('o', '^', 's', 'D', 'v', 'P', 'X', '*')
"""Shapes that tell apart points of the same colour, or printed in grey."""

FONTS = (
    'DejaVu Sans', 'Noto Sans CJK SC', 'Noto Sans CJK JP', 'Noto Sans CJK KR', 'Noto Sans SC', 'Noto Sans JP',
    'Source Han Sans SC', 'WenQuanYi Zen Hei', 'WenQuanYi Micro Hei', 'Droid Sans Fallback', 'IPAGothic', 'NanumGothic',
    'Microsoft YaHei', 'Yu Gothic', 'Malgun Gothic', 'PingFang SC', 'Hiragino Sans', 'Arial Unicode MS',
    'Noto Sans Devanagari', 'Noto Sans Thai', 'Noto Sans Bengali', 'Noto Sans Tamil', 'Noto Emoji',
)  # fmt: skip
"""Fonts in which a letter is looked for, one after the other; DejaVu has neither Chinese, Japanese nor Korean."""


def check_figure_path(path: str | Path) -> None:
    """Check that a figure can be written to a file.

    Raises:
        UserError: if its format is unknown, or its folder cannot be written to.
    """
    formats = sorted(Figure().canvas.get_supported_filetypes())
    if Path(path).suffix.lower().removeprefix('.') not in formats:
        raise UserError(f'`out={path}`: the name must end in one of .{", .".join(formats)}')
    check_writable(Path(path).parent, '`out`')


def write(figure: Figure, path: str | Path) -> Path:
    """Write a figure in the format of the path's ending; returns the path."""
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    png = Path(path).suffix.lower() == '.png'
    figure.savefig(path, dpi=110, metadata={'Software': 'mixcl'} if png else None)  # no image of later runs
    return Path(path)


def pixels(figure: Figure) -> np.ndarray:
    """Render a figure to (H, W, 3) uint8, in RGB order."""
    canvas = FigureCanvasAgg(figure)
    canvas.draw()
    return np.asarray(canvas.buffer_rgba())[..., :3].copy()


def finished(figure: Figure) -> Figure:
    """Give a figure's text fonts that have its letters, and wrap its titles; the figure becomes as much higher."""
    _use_installed_fonts(figure)
    figure.draw_without_rendering()  # places the axes
    parts: Sequence[Any] = (figure, *figure.subfigs)
    added: dict[Any, float] = {part: _wrap(part._suptitle, 0.98 * part.bbox.width) for part in parts if part._suptitle}
    for axis in figure.axes:
        grid, room = axis.get_subplotspec(), axis.get_position(original=True).width * axis.figure.bbox.width
        row = axis.figure, grid and grid.rowspan.start
        added[row] = max(added.get(row, 0), _wrap(axis.title, room) + _wrap(axis.xaxis.label, room))
    figure.set_figheight(figure.get_figheight() + sum(added.values()))
    return figure


def _wrap(text: Text, room: float) -> float:
    """Break lines of a text that are wider than some pixels, where words end if they do; return the inches added."""

    def width(line: str) -> float:
        text.set_text(line)
        return text.get_window_extent().width

    rest, lines = text.get_text().split('\n'), []
    before = len(rest)
    while rest:
        line = rest.pop(0)
        if width(line) > room:
            most = max(bisect(range(len(line)), room, key=lambda end: width(line[:end])) - 1, 1)
            end = line.rfind(' ', 1, most + 1)
            end = end if end > 0 else most - (line[most - 1] == '\\' and most > 1)  # not within an escaped dollar
            rest[:0] = [line[end:].lstrip()] * (end < len(line))
            line = line[:end]
        lines.append(line)
    text.set_text('\n'.join(lines))
    return (len(lines) - before) * text.get_fontproperties().get_size_in_points() * 1.2 / 72


def _use_installed_fonts(figure: Figure) -> None:
    """Let the text of a figure have letters of every installed font of :data:`FONTS`; warn once about those of none."""
    files = {font.name: font.fname for font in reversed(font_manager.fontManager.ttflist)}
    names = [name for name in FONTS if name in files]
    texts: list[Any] = figure.findobj(Text)
    for text in texts:
        text.set_fontfamily(names)
    needed = {letter for text in texts for letter in text.get_text() if not letter.isspace()}
    for name in names:
        needed -= {*map(chr, font_manager.get_font(files[name]).get_charmap())}
    if needed:
        _warn_of(''.join(sorted(needed))[:9])


@cache  # warnings' own memory ends whenever a filter is added
def _warn_of(letters: str) -> None:
    warnings.filterwarnings('ignore', r'Glyph \d+ .* missing from font')  # matplotlib says it of every letter
    warnings.warn(f'no installed font has {letters}: figures show boxes; Noto Sans CJK has many', stacklevel=4)


def show(axis: Axes, image: Tensor, title: str = '', below: Sequence[str] = ()) -> None:
    """Draw an image (C, H, W), float in [0, 1]: one channel in grey, or the first three of many."""
    pixels = image.float().clamp(0, 1).permute(1, 2, 0)
    colours = pixels[..., :3] if pixels.shape[2] >= 3 else pixels[..., :1].expand(-1, -1, 3)
    axis.imshow(colours.numpy(), interpolation='nearest')
    axis.set_title(title, fontsize=7)
    bare(axis)
    axis.set_xlabel('\n'.join(below), fontsize=7)


def bare(axis: Axes) -> None:
    """Remove ticks and frame, but keep the labels."""
    axis.set(xticks=[], yticks=[])
    axis.spines[:].set_visible(False)


def heat(axis: Axes, values: Tensor, title: str, cmap: str | Colormap = 'inferno', **limits: Any) -> None:
    """Draw a map (h, w) of numbers, by default from its smallest in black to its largest in yellow."""
    axis.imshow(values.numpy(), cmap=cmap, interpolation='nearest', **limits)
    axis.set_title(title, fontsize=7)
    bare(axis)


def plain(text: object, width: int | None = None) -> str:
    """Return text from elsewhere, in which matplotlib reads no formulas; with a width, at most two lines of it."""
    printable = ''.join(c if c.isprintable() else '?' for c in str(text))
    lines = textwrap.wrap(printable, width) if width else [printable]
    shortened = '\n'.join(lines[:2]) + (' ...' if len(lines) > 2 else '')
    return shortened.replace('$', r'\$')
