"""The state of a run as tensors and plain values, so that stock ``torch.load(weights_only=True)`` reads it."""

from typing import Any

import numpy as np
import torch
from mmengine.logging import HistoryBuffer


def make_plain(checkpoint: dict) -> None:
    """Replace what is neither a tensor nor plain in a checkpoint that is about to be written.

    mmengine keeps numpy numbers and the log's history (objects of its own) in checkpoints.
    """
    for name, part in checkpoint.items():
        if name != 'state_dict':
            checkpoint[name] = _plain(part)


def restore_history(checkpoint: dict) -> None:
    """Put the log's history back into a checkpoint that was read."""
    scalars = checkpoint.get('message_hub', {}).get('log_scalars', {})
    for name, stored in scalars.items():
        if isinstance(stored, dict):
            scalars[name] = HistoryBuffer(stored['values'].tolist(), stored['counts'].tolist(), stored['max_length'])


def _plain(value: Any) -> Any:
    match value:
        case HistoryBuffer():
            values, counts = value.data
            return dict(values=_plain(values), counts=_plain(counts), max_length=value.max_length)
        case np.generic():
            return value.item()
        case np.ndarray():
            return torch.from_numpy(value.copy())
        case dict():
            return type(value)((name, _plain(part)) for name, part in value.items())
        case list() | tuple():
            parts = [_plain(part) for part in value]
            return parts if isinstance(value, list) else tuple(parts)
    return value
