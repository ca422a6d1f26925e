"""Text of figures: letters from any installed font, and titles that have room."""

import warnings

import numpy as np
import pytest
from matplotlib.figure import Figure

from mixcl.visualization import canvas


def titled(text: str) -> Figure:
    figure = Figure(figsize=(2, 1))
    figure.suptitle(text)
    return canvas.finished(figure)


def test_letters_come_from_any_font_that_has_them(monkeypatch: pytest.MonkeyPatch) -> None:
    """The letter, of private use, is in a font that matplotlib has for formulas, and in none for text."""
    letters = 'a\ue000'
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter('always')
        boxes = canvas.pixels(titled(letters))
    assert [str(one.message).split(':')[0] for one in said] == ['no installed font has \ue000']
    plain = canvas.pixels(titled('a'))
    monkeypatch.setattr(canvas, 'FONTS', (*canvas.FONTS, 'STIXNonUnicode'))
    with warnings.catch_warnings():
        warnings.simplefilter('error')
        assert not np.array_equal(canvas.pixels(titled(letters)), boxes)
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
