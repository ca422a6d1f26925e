"""Figures and the report. Names are imported when they are asked for: every run imports the hook that draws some."""

import importlib
from typing import Any

_LAZY = dict(
    attention_figure='attention_figure',
    curves_figure='curves',
    drawn='figures',
    key_figure='key_figure',
    map_figure='map_figure',
    mixture_figure='mix_preview',
    neighbour_figure='neighbour_figure',
    read_pictured='pictured',
    similarity_figure='similarity_figure',
    view_figure='view_figure',
)


def __getattr__(name: str) -> Any:
    if name not in _LAZY:
        raise AttributeError(f'module {__name__!r} has no attribute {name!r}')
    return getattr(importlib.import_module(f'{__name__}.{_LAZY[name]}'), name)
