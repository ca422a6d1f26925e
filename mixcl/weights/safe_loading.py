"""Checkpoints are written and read as data: a file that wants to run code is refused."""

from pathlib import Path
from typing import Any

import numpy as np
import torch
from mmengine.hooks import Hook
from mmengine.logging import HistoryBuffer
from mmengine.runner import CheckpointLoader, Runner

from mixcl.errors import UserError
from mixcl.registry import HOOKS


def load_plain(path: str | Path, map_location: str | torch.device = 'cpu') -> object:
    """Read a checkpoint file of tensors and plain values.

    Raises:
        UserError: if the file is missing, damaged, or holds anything else.
    """
    path = Path(path).expanduser()
    if not path.is_file():
        raise UserError(f'there is no checkpoint file {path}')
    try:
        return torch.load(path, map_location=map_location, weights_only=True)
    except Exception as error:  # the readers underneath raise whatever their archive formats raise
        raise UserError(
            f'{path} cannot be read as a checkpoint: it is damaged, or holds more than tensors and plain values'
        ) from error


def load_checkpoints_as_data() -> None:
    """Make mmengine read local checkpoints by :func:`load_plain`, where its own reader falls back to full pickle."""
    CheckpointLoader.register_scheme(prefixes='', loader=load_plain, force=True)


@HOOKS.register_module()
class PlainCheckpointHook(Hook):
    """Stores a run's state as tensors and plain values, so that stock ``torch.load(weights_only=True)`` reads it.

    mmengine keeps numpy numbers and the log's history (objects of its own) in checkpoints; the history is put back
    when a run resumes.
    """

    priority = 'VERY_LOW'

    def before_save_checkpoint(self, runner: Runner, checkpoint: dict) -> None:
        for name, part in checkpoint.items():
            if name != 'state_dict':
                checkpoint[name] = _plain(part)

    def after_load_checkpoint(self, runner: Runner, checkpoint: dict) -> None:
        scalars = checkpoint.get('message_hub', {}).get('log_scalars', {})
        for name, stored in scalars.items():
            if isinstance(stored, dict):
                scalars[name] = HistoryBuffer(
                    stored['values'].tolist(), stored['counts'].tolist(), stored['max_length']
                )


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
