"""What a page is made of, before it is HTML."""

import base64
import io
import os
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from matplotlib.figure import Figure

from mixcl.errors import UserError


class Block(NamedTuple):
    """A part of a page.

    Attributes:
        kind: 'text', 'missing' (why something is not there), 'list', 'code', 'table', 'picture', 'chart', 'details'.
        content: a text; the lines of a list; the rows of a table; the address of a picture; a chart in Vega-Lite; the
            blocks of details.
        title: caption of a picture, heading of a chart, summary of details.
        head: of a table.
    """

    kind: str
    content: Any
    title: str = ''
    head: Sequence[str] = ()


class Section(NamedTuple):
    """A part of a page with a heading: blocks about all runs, then those of each run by its label."""

    title: str
    intro: str
    shared: list[Block]
    runs: dict[str, list[Block]]


def told(make: Callable[[], list[Block]]) -> list[Block]:
    """Blocks, or in their place a sentence that says why they are not there."""
    try:
        return make()
    except UserError as error:
        reason = str(error)
    except Exception as error:  # whatever one part meets, the others are worth having
        if os.environ.get('MIXCL_TRACEBACK'):
            raise
        reason = f'this could not be shown ({type(error).__name__}: {" ".join(str(error).split())})'
    return [Block('missing', f'{reason[:1].upper()}{reason[1:]}.')]


def details(summary: str, *blocks: Block) -> Block:
    """Blocks that are folded away."""
    return Block('details', list(blocks), summary)


def picture(figure: Figure, caption: str, form: str = 'png') -> Block:
    """A figure within the page: 'png' where it shows images, 'svg' where it shows lines."""
    file = io.BytesIO()
    figure.savefig(file, format=form, dpi=100, pil_kwargs=dict(optimize=True) if form == 'png' else None)
    return Block('picture', data_address(file.getvalue(), 'svg+xml' if form == 'svg' else form), caption)


def data_address(content: bytes, form: str) -> str:
    """The address of an image that carries the image itself."""
    return f'data:image/{form};base64,{base64.b64encode(content).decode()}'
