"""The state of a run in its checkpoints: what is written, and from which file an interrupted run continues."""

import logging
from pathlib import Path
from typing import Any

import numpy as np
import torch
from mmengine.logging import HistoryBuffer, print_log
from torch import Tensor, nn
from torch.optim import Optimizer

from mixcl.errors import UserError
from mixcl.files import is_whole
from mixcl.weights.checkpoint import position_and_time
from mixcl.weights.named import LIBRARY_FILES


def training_state(model: nn.Module, optimizer: Optimizer) -> dict[str, Tensor]:
    """Return every tensor that decides how training goes on: the model's weights and buffers, the optimiser's state."""
    of_optimizer = {
        f'{name} of parameter {number} in the optimizer': value
        for number, state in enumerate(optimizer.state.values())
        for name, value in state.items()
        if isinstance(value, Tensor)
    }
    return {**model.state_dict(), **of_optimizer}


def make_plain(checkpoint: dict) -> None:
    """Replace, in a checkpoint about to be written, what stock ``torch.load(weights_only=True)`` would not read.

    mmengine keeps numpy numbers and the log's history (objects of its own) in checkpoints.
    """
    for name, part in checkpoint.items():
        if name != 'state_dict':
            checkpoint[name] = _plain(part)


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


def restore_history(checkpoint: dict) -> None:
    """Put the log's history back into a checkpoint that was read: undo :func:`make_plain`."""
    scalars = checkpoint.get('message_hub', {}).get('log_scalars', {})
    for name, stored in scalars.items():
        if isinstance(stored, dict):
            scalars[name] = HistoryBuffer(stored['values'].tolist(), stored['counts'].tolist(), stored['max_length'])


def check_resumable(checkpoint: dict, path: str | Path) -> None:
    """Raise :class:`UserError` unless a run can be continued from the checkpoint, which needs more than weights."""
    absent = [part for part in ('meta', 'optimizer', 'message_hub') if part not in checkpoint]
    if absent:
        raise UserError(
            f'{path} holds weights but no state of a run ({", ".join(absent)} missing), so it cannot be resumed; to '
            'start a new run from its weights use `cfg_options` load_from=FILE'
        )


def checkpoints_of(folder: str | Path) -> list[Path]:
    """Return the checkpoints of a run in its folder, written after epochs or after steps, in no useful order."""
    return sorted((*Path(folder).glob('epoch_*.pth'), *Path(folder).glob('iter_*.pth')))


def newest_checkpoint(work_dir: str | Path) -> str | None:
    """Return the furthest undamaged checkpoint of a work dir; None, with a warning, if there is none.

    The step is read from the files, since names and times change when files are copied. Of two at the same step, the
    one written last is taken. A damaged file is skipped, with a warning that names it.

    Raises:
        UserError: if there are checkpoints, and all are damaged.
    """
    paths = checkpoints_of(work_dir)
    if not paths:
        message = f'there is no checkpoint in {work_dir}, the run starts from the beginning'
        print_log(message, level=logging.WARNING)
        return None
    times, in_epochs = {}, any(path.name.startswith('epoch_') for path in paths)
    for path in paths:
        try:
            times[path] = position_and_time(path, in_epochs)
        except UserError as error:
            _warn(str(error))
    for path in sorted(times, key=times.__getitem__, reverse=True):
        if is_whole(path):
            return str(path)
        _warn(f'{path} is damaged')
    raise UserError(
        f'none of the {len(paths)} checkpoint(s) in {work_dir} can be read; remove them, or choose another folder, to '
        'start from the beginning'
    )


def checkpoint_in(path: str | Path) -> str:
    """Return the file itself, or the newest checkpoint of a run's folder.

    Raises:
        UserError: if the run has none.
    """
    folder = Path(path)
    if not folder.is_dir() or any((folder / name).is_file() for name in LIBRARY_FILES):  # another library's folder
        return str(path)
    found = newest_checkpoint(folder) if checkpoints_of(folder) else None
    if found is None:
        raise UserError(
            f'the folder {path} holds no checkpoint of a run, and has none of {", ".join(LIBRARY_FILES)}; give a file'
        )
    return found


def _warn(problem: str) -> None:
    print_log(f'{problem}; an older checkpoint is taken', level=logging.WARNING)
