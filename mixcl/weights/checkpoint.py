"""Reading of checkpoints as data, here and nowhere else: a file that wants to run code is refused."""

import logging
import pickle
import re
from argparse import Namespace
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import torch
from mmengine.logging import print_log
from mmengine.runner import CheckpointLoader
from safetensors.torch import load_file
from torch import Tensor

from mixcl.errors import UserError
from mixcl.files import matches_checksum, open_regular
from mixcl.recipes.paths import dotted, walk
from mixcl.weights.named import local_file

_pickle_allowed = False


@contextmanager
def allow_pickle(allowed: bool = True) -> Iterator[None]:
    """Read checkpoints that hold more than tensors and plain values, within ``with`` (``--allow-pickle``).

    Such a file can do anything while it is read, and so can its config when parts of the config are built. With
    ``allowed=False`` nothing changes.
    """
    global _pickle_allowed
    before = _pickle_allowed
    if allowed and not before:
        print_log('`allow_pickle`: checkpoints may run code while they are read', level=logging.WARNING)
    _pickle_allowed = before or allowed
    try:
        yield
    finally:
        _pickle_allowed = before


def is_trusted() -> bool:
    """Whether this is within :func:`allow_pickle`, where files may do anything."""
    return _pickle_allowed


def load_from_file(filename: str | Path, map_location: str | torch.device | None = 'cpu') -> dict:
    """Read a checkpoint of tensors and plain values, from what :func:`~mixcl.weights.named.weights_named` takes.

    A checksum beside it must match. mmengine shows the end of this function's name to the user ("by file backend").

    Raises:
        UserError: if the file is missing, damaged or no dict, or if it holds anything else and :func:`allow_pickle`
            was not called.
    """
    path = local_file(filename)
    if not path.is_file():
        raise UserError(f'there is no checkpoint file {path}')
    if matches_checksum(path) is False:
        raise UserError(
            f'{path} is damaged: its content is not what its checksum {path.name}.sha256 says; use another checkpoint, '
            'or remove the checksum if the file was changed on purpose'
        )
    try:
        if path.suffix == '.safetensors':
            return load_file(path)
        with torch.serialization.safe_globals([Namespace]):  # DINO and timm keep their arguments, plain values, in one
            checkpoint = torch.load(path, map_location=map_location, weights_only=not _pickle_allowed)
    except Exception as error:  # the readers underneath may raise anything
        raise UserError(f'{path} cannot be read as a checkpoint: {_reason(error)}') from error
    if not isinstance(checkpoint, dict):
        raise UserError(f'{path} is no checkpoint: it holds a {type(checkpoint).__name__}')
    if isinstance(checkpoint.get('meta'), dict):
        checkpoint['meta'].pop('config', None)  # mmengine's Runner.resume runs it as a program
    return checkpoint


read_checkpoint = load_from_file
"""Same as :func:`load_from_file`, with the name of what it reads."""


def position_and_time(path: Path, in_epochs: bool) -> tuple[float, float]:
    """Return after how many epochs (else steps) and when a checkpoint was written; read no tensors."""
    try:
        open_regular(path).close()
        meta = torch.load(path, map_location='cpu', weights_only=True, mmap=True)['meta']
        done = int(meta['iter'])
        if in_epochs:  # steps do not compare if a resumed run has another batch size
            done = done / meta['steps_per_epoch'] if 'steps_per_epoch' in meta else meta.get('epoch', done)
        return done, float(meta.get('written', 0))
    except Exception as error:  # as above
        raise UserError(f'{path} cannot be read as the checkpoint of a run: {_reason(error)}') from error


def _reason(error: Exception) -> str:
    wanted = re.search(r'GLOBAL (\S+)', str(error)) if isinstance(error, pickle.UnpicklingError) else None
    if wanted is None:
        return 'it is damaged, or holds more than tensors and plain values'
    return (
        f'it holds more than tensors and plain values ({wanted.group(1)}), and could run code; if you trust its '
        'source, read it with `allow_pickle` (in Python: with mixcl.weights.allow_pickle(): ...)'
    )


def load_checkpoints_as_data() -> None:
    """Make mmengine read checkpoints by :func:`load_from_file`, whatever the kind of address.

    mmengine's own readers fall back to full pickle, or never refuse it.
    """
    CheckpointLoader.register_scheme(prefixes=list(CheckpointLoader._schemes), loader=load_from_file, force=True)


def weights_of(checkpoint: dict, path: str | Path) -> dict[str, Tensor]:
    """Return the weights in a checkpoint read from ``path``, without prefixes of distributed or compiled modules.

    The weights are under 'state_dict' or 'model', or are the file itself. DINO's are under 'student' and 'teacher',
    which become prefixes. If a running average is beside the weights, the prefixes are 'last' and 'ema'.

    Raises:
        UserError: if the checkpoint holds no weights.
    """
    nested = {name: value for name, value in checkpoint.items() if isinstance(value, Mapping)}
    states = {f'{name}.': nested[name] for name in ('student', 'teacher') if name in nested}
    if not states:
        average = nested.get('state_dict_ema', nested.get('model_ema'))
        last = checkpoint.get('state_dict', nested.get('model'))
        states = {'last.': last, 'ema.': average} if last and average else {'': last or average or checkpoint}
    weights: dict[str, Tensor] = {}
    for prefix, state in states.items():
        pairs = state.items() if isinstance(state, Mapping) else ()
        if not pairs or not all(isinstance(name, str) and isinstance(value, Tensor) for name, value in pairs):
            place = next((dotted(place) for place, node in walk(checkpoint) if isinstance(node, Tensor)), '')
            seen = f'; it has tensors such as {place}' if place else ''
            raise UserError(f'{path} holds no weights (a dict of tensors, or one under "state_dict"){seen}')
        weights |= {prefix + name.replace('_orig_mod.', '').removeprefix('module.'): value for name, value in pairs}
    return weights


def non_finite(tensors: Mapping[str, Tensor]) -> list[str]:
    """Return the names of the tensors that hold an infinity or NaN."""
    return [name for name, tensor in tensors.items() if not torch.isfinite(tensor).all()]


REAL = frozenset({torch.float16, torch.bfloat16, torch.float32, torch.float64})
"""Dtypes of weights that are cast to each other."""


def mismatches(of_model: Mapping[str, Tensor], state: Mapping[str, Tensor]) -> Iterator[str]:
    """Yield how the tensors of a file (``state``) do not fit a model's (``of_model``): shapes, dtypes and names."""
    differing = [name for name in of_model if name in state and of_model[name].shape != state[name].shape]
    if differing:
        name = differing[0]
        yield (
            f'{len(differing)} of {len(of_model)} tensors have another shape, for example {name} is '
            f'{tuple(state[name].shape)} in the file and {tuple(of_model[name].shape)} in the model'
        )
    types = {name: {of_model[name].dtype, state[name].dtype} for name in of_model if name in state}
    others = [name for name, both in types.items() if len(both) > 1 and not both <= REAL]
    if others:
        name = others[0]
        yield (
            f'{len(others)} of {len(of_model)} tensors are of another type, for example {name} is '
            f'{state[name].dtype} in the file and {of_model[name].dtype} in the model'
        )
    missing = [name for name in of_model if name not in state]
    if missing:
        yield f'{len(missing)} of {len(of_model)} tensors are not in the file, for example {missing[0]}'
    surplus = [name for name in state if name not in of_model]
    if surplus:
        yield f'the file has {len(surplus)} tensors more, for example {surplus[0]}'
