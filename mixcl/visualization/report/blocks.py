"""What a page is made of, before it is HTML."""

import base64
import io
import os
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from matplotlib.figure import Figure

from mixcl.errors import UserError


class Block(NamedTuple):
    """A part of a page; page.html says what each kind has as its content. 'missing' says why something is not there."""

    kind: str
    content: Any
    title: str = ''
    head: Sequence[str] = ()


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


def picture(figure: Figure, title: str, form: str = 'png') -> Block:
    """A figure within the page: 'png' where it shows images, 'svg+xml' where it shows lines."""
    file = io.BytesIO()
    figure.savefig(file, format=form[:3], dpi=100)
    content = base64.b64encode(file.getvalue()).decode()
    return Block('picture', f'data:image/{form};base64,{content}', title)
