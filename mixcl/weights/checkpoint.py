"""Reading checkpoints, and refusing those that do not fit."""

from pathlib import Path

import torch
from mmengine.model import is_model_wrapper
from mmengine.runner import CheckpointLoader
from torch import Tensor, nn

from mixcl.errors import UserError


def read_state_dict(path: str | Path) -> dict[str, Tensor]:
    """The weights in a checkpoint file, on the CPU, without the prefix of a distributed wrapper.

    Raises:
        UserError: if the file is missing, cannot be read, or holds no weights.
    """
    path = Path(path)
    if not path.is_file():
        raise UserError(f'there is no checkpoint file {path}')
    try:
        checkpoint = CheckpointLoader.load_checkpoint(str(path), map_location='cpu', logger=None)
    except Exception as error:  # the readers underneath raise whatever their archive formats raise
        raise UserError(f'{path} cannot be read as a checkpoint: {_first_line(error)}') from error
    state = checkpoint.get('state_dict', checkpoint) if isinstance(checkpoint, dict) else None
    if not state or not all(isinstance(value, Tensor) for value in state.values()):
        raise UserError(f'{path} holds no weights (a dict of tensors, or one under "state_dict")')
    return {name.removeprefix('module.'): value for name, value in state.items()}


def check_fits(model: nn.Module, state: dict[str, Tensor], path: str | Path) -> None:
    """Raise :class:`UserError` unless the weights have exactly the model's names and shapes."""
    own = (model.module if is_model_wrapper(model) else model).state_dict()
    missing = [name for name in own if name not in state]
    unknown = [name for name in state if name not in own]
    differing = [name for name in own if name in state and own[name].shape != state[name].shape]
    if not (missing or unknown or differing):
        return
    reasons = []
    if differing:
        name = differing[0]
        reasons.append(
            f'{len(differing)} tensors have another shape, for example {name} is {tuple(state[name].shape)} in the '
            f'file and {tuple(own[name].shape)} in the model'
        )
    if missing:
        reasons.append(f'{len(missing)} are missing, for example {missing[0]}')
    if unknown:
        reasons.append(f'{len(unknown)} are not in the model, for example {unknown[0]}')
    raise UserError(
        f'the checkpoint {path} is of another architecture than the config: {"; ".join(reasons)}; use the config it '
        'was trained with (a copy lies in its work_dir)'
    )


def load_weights(model: nn.Module, path: str | Path) -> None:
    """Load a checkpoint into a model of the same architecture.

    Raises:
        UserError: if the file cannot be read or does not fit.
    """
    state = read_state_dict(path)
    check_fits(model, state, path)
    with torch.no_grad():
        (model.module if is_model_wrapper(model) else model).load_state_dict(state)


def _first_line(error: Exception) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0]
