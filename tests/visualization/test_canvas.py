"""Text of figures: letters from any installed font, and titles that have room."""

import warnings
from pathlib import Path

import numpy as np
import pytest
from fontTools.fontBuilder import FontBuilder
from fontTools.pens.ttGlyphPen import TTGlyphPen
from matplotlib import font_manager
from matplotlib.figure import Figure

from mixcl.visualization import canvas

LETTER = '\ue123'  # of private use: in no font of this machine but that of the test


def font_of(letter: str, path: Path, name: str) -> Path:
    """Write a font in which a letter is a black square."""
    pen = TTGlyphPen(None)
    pen.moveTo((0, 0))
    for corner in ((0, 900), (900, 900), (900, 0)):
        pen.lineTo(corner)
    pen.closePath()
    builder = FontBuilder(1000, isTTF=True)
    builder.setupGlyphOrder(['.notdef', 'square'])
    builder.setupCharacterMap({ord(letter): 'square'})
    builder.setupGlyf({'.notdef': TTGlyphPen(None).glyph(), 'square': pen.glyph()})
    builder.setupHorizontalMetrics({'.notdef': (1000, 0), 'square': (1000, 0)})
    builder.setupHorizontalHeader(ascent=1000, descent=0)
    builder.setupNameTable(dict(familyName=name, styleName='Regular'))
    builder.setupOS2()
    builder.setupPost()
    builder.save(path)
    return path


def titled(text: str) -> Figure:
    figure = Figure(figsize=(2, 1))
    figure.suptitle(text)
    return canvas.finished(figure)


def test_letters_come_from_any_font_that_has_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plain = canvas.pixels(titled('a'))
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter('always')
        canvas.pixels(titled(f'a{LETTER}{LETTER}'))
    assert [str(one.message).split(':')[0] for one in said] == [f'no installed font has {LETTER}']
    monkeypatch.setattr(font_manager.fontManager, 'ttflist', [*font_manager.fontManager.ttflist])
    font_manager.fontManager.addfont(font_of(LETTER, tmp_path / 'square.ttf', 'Square'))
    monkeypatch.setattr(canvas, 'FONTS', (*canvas.FONTS, 'Square'))
    with warnings.catch_warnings():
        warnings.simplefilter('error')
        seen = canvas.pixels(titled(f'a{LETTER}{LETTER}'))
    assert (seen == 0).all(axis=2).sum() - (plain == 0).all(axis=2).sum() > 100
    assert np.array_equal(canvas.pixels(titled('a')), plain)


@pytest.mark.parametrize('width', [2, 8])
@pytest.mark.parametrize('title', ['a title of US$ 1, then ' * 4 + 'one_word' * 8 + '$ 2' * 9, '写真の長い名前' * 5])
@pytest.mark.filterwarnings('ignore:no installed font', 'ignore:Glyph')
def test_titles_are_never_cut_off_nor_over_their_neighbours(title: str, width: float) -> None:
    figure = Figure(figsize=(width, 3), layout='constrained')
    figure.suptitle(canvas.plain(title))
    axes = figure.subplots(2, 3)
    for axis in axes.flat:
        axis.imshow(np.zeros((4, 4)))
        axis.set_title(canvas.plain(title), fontsize=7)
        axis.set_xlabel(canvas.plain(title), fontsize=7)
    seen = canvas.pixels(canvas.finished(figure))
    for edge in (seen[:2], seen[-2:], seen[:, :1], seen[:, -1:]):
        assert (edge == 255).all()
    texts = [figure._suptitle, *(text for axis in axes.flat for text in (axis.title, axis.xaxis.label))]
    boxes = [text.get_window_extent().shrunk(0.99, 0.99) for text in texts]
    for number, box in enumerate(boxes):
        assert not any(map(box.overlaps, [*boxes[:number], *(axis.get_window_extent() for axis in axes.flat)]))
    assert {''.join(text.get_text().split()) for text in texts} == {''.join(canvas.plain(title).split())}
    assert min(axis.get_window_extent().height for axis in axes.flat) > 20  # room for the images stays
