"""Which numbers a name allows, wherever it stands in a config."""

import math
from collections.abc import Mapping
from typing import Any

AT_LEAST_1 = ('a whole number at least 1', lambda value: value >= 1 and value == int(value))
INTERVAL = ('a whole number at least 1, or -1 for never', lambda value: value == -1 or AT_LEAST_1[1](value))
NOT_NEGATIVE = ('a number 0 or more', lambda value: value >= 0)
ABOVE_0 = ('a number above 0', lambda value: value > 0)
SHARE = ('a number between 0 and 1', lambda value: 0 <= value <= 1)

RANGES = {
    **dict.fromkeys(
        (
            'accumulative_counts',
            'base_batch_size',
            'batch_size',
            'embed_dims',
            'feedforward_channels',
            'hidden_channels',
            'img_size',
            'in_channels',
            'max_epochs',
            'max_iters',
            'num_heads',
            'num_layers',
            'num_mix',
            'out_channels',
            'patch_size',
            'val_interval',
        ),
        AT_LEAST_1,
    ),
    'interval': INTERVAL,
    **dict.fromkeys(('begin', 'lr', 'num_workers', 'warmup', 'weight_decay'), NOT_NEGATIVE),
    **dict.fromkeys(('max_norm', 'temperature'), ABOVE_0),
    **dict.fromkeys(('attn_drop_rate', 'drop_path_rate', 'drop_rate', 'momentum', 'prob', 'smoothing'), SHARE),
}
"""By the name of the key: what is allowed, in words and as a test."""


def expected_range(key: str | int, value: Any) -> str | None:
    """What a value should have been, in words, or None if its name allows it; only numbers and texts are judged."""
    if key not in RANGES or isinstance(value, bool) or not isinstance(value, (int, float, str)):
        return None
    words, allowed = RANGES[key]
    if isinstance(value, str):
        return f'{words}, not a text'
    return None if math.isfinite(value) and allowed(value) else words


def uneven_heads(node: Mapping[str, Any]) -> bool:
    """Whether a transformer's width cannot be divided evenly among its attention heads."""
    width, heads = node.get('embed_dims'), node.get('num_heads')
    return isinstance(width, int) and isinstance(heads, int) and heads > 0 and width % heads != 0
