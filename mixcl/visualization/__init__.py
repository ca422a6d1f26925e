"""Figures and the report. Names are imported on first use, as every run imports the hook that draws some figures."""

import importlib
from typing import Any

_LAZY = dict(
    attention_figure='attention',
    curves_figure='curves',
    drawn='figures',
    key_figure='keys',
    map_figure='feature_map',
    mixture_figure='mix_preview',
    neighbour_figure='neighbours',
    read_pictured='pictured',
    similarity_figure='similarity',
    token_figure='token_colours',
    view_figure='views',
)


def __getattr__(name: str) -> Any:
    if name not in _LAZY:
        raise AttributeError(f'module {__name__!r} has no attribute {name!r}')
    return getattr(importlib.import_module(f'{__name__}.{_LAZY[name]}'), name)
