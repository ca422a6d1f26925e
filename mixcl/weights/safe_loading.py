"""Checkpoints are read as data: a file that wants to run code is refused."""

import logging
import pickle
import re
from pathlib import Path

import torch
from mmengine.logging import print_log
from mmengine.runner import CheckpointLoader
from safetensors.torch import load_file

from mixcl.errors import UserError
from mixcl.weights.downloads import downloaded, is_address
from mixcl.weights.whole_files import matches_checksum

_pickle_allowed = False


def allow_pickle() -> None:
    """Let this process read checkpoints that hold more than tensors and plain values (``--allow-pickle``).

    Such a file can do anything while it is read.
    """
    global _pickle_allowed
    _pickle_allowed = True
    print_log('--allow-pickle: checkpoints may run code while they are read', level=logging.WARNING)


def local_file(path: str | Path) -> Path:
    """Where a checkpoint lies that a user named; one with an address is downloaded at first use."""
    return downloaded(str(path)) if is_address(path) else Path(path).expanduser()


def load_plain(path: str | Path, map_location: str | torch.device | None = 'cpu') -> object:
    """Read a checkpoint of tensors and plain values; ``.safetensors`` files as a dict of tensors on the CPU.

    Args:
        path: a file, whose checksum is compared if there is one, or an address (:func:`~mixcl.weights.downloads`).
        map_location: as of ``torch.load``.

    Raises:
        UserError: if the file is missing, damaged, or holds anything else, unless :func:`allow_pickle` was called.
    """
    path = local_file(path)
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
        return torch.load(path, map_location=map_location, weights_only=not _pickle_allowed)
    except Exception as error:  # the readers underneath raise whatever their archive formats raise
        raise UserError(f'{path} cannot be read as a checkpoint: {_reason(error)}') from error


def written_at(path: Path) -> tuple[float, int]:
    """When a run wrote a checkpoint, and after which step; the tensors stay on the disk.

    Raises:
        UserError: if it cannot be read, or was not written by a run.
    """
    try:
        meta = torch.load(path, map_location='cpu', weights_only=True, mmap=True)['meta']
        return float(meta.get('written', 0)), int(meta['iter'])
    except Exception as error:  # as above
        raise UserError(f'{path} cannot be read as the checkpoint of a run: {_reason(error)}') from error


def load_checkpoints_as_data() -> None:
    """Make mmengine read checkpoints by :func:`load_plain`, whatever the kind of address.

    Its own readers fall back to full pickle, or never refuse it.
    """
    CheckpointLoader.register_scheme(prefixes=list(CheckpointLoader._schemes), loader=load_from_file, force=True)


def load_from_file(filename: str, map_location: str | torch.device | None = None) -> object:
    """:func:`load_plain` under a name of the form that mmengine reports to the user ("by file backend")."""
    return load_plain(filename, map_location)


def _reason(error: Exception) -> str:
    wanted = re.search(r'GLOBAL (\S+)', str(error)) if isinstance(error, pickle.UnpicklingError) else None
    if wanted is None:
        return 'it is damaged, or holds more than tensors and plain values'
    return (
        f'it holds more than tensors and plain values ({wanted.group(1)}), and could run code; if you trust where it '
        'comes from, --allow-pickle reads it'
    )
