"""Checkpoints that are named by an address instead of a path."""

import hashlib
import re
from pathlib import Path
from urllib.parse import urlparse

import torch
from mmengine.runner.checkpoint import get_torchvision_models

from mixcl.errors import UserError


def is_address(path: str | Path) -> bool:
    """Whether it is ``scheme://...`` and not a file."""
    return '://' in str(path)


def downloaded(address: str) -> Path:
    """The local copy of a checkpoint, in torch's hub folder; downloaded at first use.

    Args:
        address: ``https://...``, ``http://...``, or ``torchvision://resnet50``, whose hash is verified.

    Raises:
        UserError: if the address cannot be reached, or is of another kind. The others that mmengine knows lead to hosts
            that are gone, or to libraries that unpickle.
    """
    scheme, _, name = address.partition('://')
    if scheme == 'torchvision':
        known = get_torchvision_models()
        if name not in known:
            raise UserError(f'torchvision has no weights {name!r} ({address}); for example torchvision://resnet50')
        return _fetched(known[name], verified=True)
    if scheme in ('http', 'https'):
        return _fetched(address)
    raise UserError(
        f'checkpoints are not read from {scheme}:// addresses ({address}): download the file and give its path, or an '
        'https:// address'
    )


def _fetched(url: str, verified: bool = False) -> Path:
    name = Path(urlparse(url).path).name
    # Many files on the web are called model.safetensors.
    path = Path(torch.hub.get_dir()) / 'checkpoints' / f'{hashlib.sha256(url.encode()).hexdigest()[:12]}-{name}'
    if path.is_file():
        return path
    path.parent.mkdir(parents=True, exist_ok=True)
    stored_hash = re.search(r'-([0-9a-f]{8,})\.', name) if verified else None
    try:
        torch.hub.download_url_to_file(url, str(path), stored_hash and stored_hash.group(1), progress=False)
    except (OSError, RuntimeError, ValueError) as error:  # URLError is an OSError
        raise UserError(f'the checkpoint {url} cannot be downloaded: {" ".join(str(error).split())}') from error
    return path
