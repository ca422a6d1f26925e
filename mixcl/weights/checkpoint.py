"""Reading checkpoints, and refusing those that do not fit."""

from collections.abc import Mapping
from pathlib import Path

from mmengine.model import is_model_wrapper
from torch import Tensor, nn

from mixcl.errors import UserError
from mixcl.weights.safe_loading import load_plain


def read_checkpoint(path: str | Path) -> dict:
    """Read a checkpoint file on the CPU.

    Raises:
        UserError: if the file is missing, cannot be read, or holds no dict.
    """
    checkpoint = load_plain(path)
    if not isinstance(checkpoint, dict):
        raise UserError(f'{path} is no checkpoint: it holds a {type(checkpoint).__name__}')
    return checkpoint


def check_resumable(checkpoint: dict, path: str | Path) -> None:
    """Raise :class:`UserError` unless a run can be continued from the checkpoint, which needs more than weights."""
    absent = [part for part in ('meta', 'optimizer', 'message_hub') if part not in checkpoint]
    if absent:
        raise UserError(
            f'{path} holds weights but no state of a run ({", ".join(absent)} missing), so it cannot be resumed; to '
            'start a new run from its weights use --cfg-options load_from=FILE'
        )


def read_state_dict(path: str | Path) -> dict[str, Tensor]:
    """The weights in a checkpoint file, on the CPU, without the prefix of a distributed wrapper.

    Raises:
        UserError: if the file is missing, cannot be read, or holds no weights.
    """
    return weights_of(read_checkpoint(path), path)


def weights_of(checkpoint: dict, path: str | Path) -> dict[str, Tensor]:
    """The weights in a checkpoint that was read from ``path``.

    Raises:
        UserError: if it holds none.
    """
    state = checkpoint.get('state_dict', checkpoint)
    if not isinstance(state, Mapping) or not state or not all(map(_is_weight, state.items())):
        raise UserError(f'{path} holds no weights (a dict of tensors, or one under "state_dict")')
    return {name.removeprefix('module.'): value for name, value in state.items()}


def _is_weight(item: tuple[object, object]) -> bool:
    return isinstance(item[0], str) and isinstance(item[1], Tensor)


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
