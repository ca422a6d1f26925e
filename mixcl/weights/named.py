"""Where weights are that a user names: files, folders, addresses, and published weights of timm and of the hub."""

import functools
import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlparse

import timm
import torch
from huggingface_hub import constants, hf_hub_download
from mmengine.config import Config

from mixcl.backbones.names import unknown_name
from mixcl.backbones.timm_backbone import RESERVED_ARGUMENTS
from mixcl.errors import UserError

LIBRARY_FILES = ('model.safetensors', 'pytorch_model.bin')
"""Names of the weight file in a folder of Hugging Face or timm, which has a ``config.json`` beside it."""

PUBLISHED = ('timm:', 'hf-hub:')
"""Prefixes of names of published weights."""


@dataclass(frozen=True)
class NamedWeights:
    """The file that a name stands for, and its network as a ``config.json`` describes it (empty without one)."""

    file: Path
    network: Mapping[str, Any] = field(default_factory=dict)


def weights_named(name: str | Path) -> NamedWeights:
    """Find weights by a path, an address, a folder of Hugging Face or timm, 'timm:NAME' or 'hf-hub:OWNER/NAME'.

    From a hub, only ``model.safetensors`` and ``config.json`` are downloaded, which run no code. A few weights of timm
    are at addresses, and read as such files are.

    Raises:
        UserError: if there are no weights of a published name or address, or they cannot be downloaded.
    """
    if str(name).startswith(PUBLISHED):
        return _published(str(name))
    if '://' in str(name):
        return NamedWeights(downloaded(str(name)))
    file = Path(name).expanduser()
    if file.is_dir():
        file = next((file / one for one in LIBRARY_FILES if (file / one).is_file()), file)
    beside = file.with_name('config.json')
    return NamedWeights(file, _read(beside) if file.name in LIBRARY_FILES and beside.is_file() else {})


def local_file(name: str | Path) -> Path:
    """Return the file of :func:`weights_named`."""
    return weights_named(name).file


@functools.cache  # a command asks several times, and each time the client would ask the hub for a newer version
def _published(name: str) -> NamedWeights:
    kind, _, rest = name.partition(':')
    if kind == 'hf-hub':
        described, file = (_from_hub(name, rest, each) for each in ('config.json', LIBRARY_FILES[0]))
        return NamedWeights(file, _read(described))
    if not timm.models.is_model_pretrained(rest):
        raise UserError(f'there are no weights {name}: {unknown_name("timm", rest, timm.list_pretrained())}')
    known: Any = timm.get_pretrained_cfg(rest)
    file = _from_hub(name, known.hf_hub_id, LIBRARY_FILES[0]) if known.hf_hub_id else downloaded(known.url)
    return NamedWeights(file, dict(architecture=rest.partition('.')[0], pretrained_cfg=known.to_dict()))


def _from_hub(name: str, repository: str, file: str) -> Path:
    repository, _, revision = repository.partition('@')
    try:
        return Path(hf_hub_download(repository, file, revision=revision or None))
    except Exception as error:  # of the client, and of the library that it sends requests with
        raise UserError(
            f'the weights {name} cannot be had: {file} of {repository} is neither in the cache of huggingface_hub, '
            f'{constants.HF_HUB_CACHE}, nor to be downloaded from {constants.ENDPOINT} ({reason_of(error)}); '
            f'name a file, or a folder with config.json and {LIBRARY_FILES[0]}, instead'
        ) from error


def reason_of(error: Exception) -> str:
    """Return the first sentence of an error of the hub's client."""
    return ' '.join(str(error).split()).partition('. ')[0].rstrip('.')[:200] or type(error).__name__


def downloaded(address: str) -> Path:
    """Return the copy, in torch's hub folder, of a file at an ``http(s)://`` address; download it at first use.

    Raises:
        UserError: if the address cannot be reached, or is of another kind. Other kinds that mmengine knows lead to
            hosts that are gone, or to libraries that unpickle.
    """
    scheme, _, path = urlparse(address)[:3]
    if scheme not in ('http', 'https'):
        raise UserError(
            f'checkpoints are not read from {scheme}:// addresses ({address}): download the file and give its path, or '
            'an https:// address'
        )
    # Many files on the web are called model.safetensors.
    name = f'{hashlib.sha256(address.encode()).hexdigest()[:12]}-{Path(path).name}'
    local = Path(torch.hub.get_dir(), 'checkpoints', name)
    if not local.is_file():
        local.parent.mkdir(parents=True, exist_ok=True)
        try:
            torch.hub.download_url_to_file(address, str(local), progress=False)
        except (OSError, RuntimeError, ValueError) as error:  # URLError is an OSError
            raise UserError(f'the checkpoint {address} cannot be downloaded: {" ".join(str(error).split())}') from error
    return local


def _read(path: Path) -> dict[str, Any]:
    try:
        return dict(json.loads(path.read_text(encoding='utf-8')))
    except (OSError, TypeError, ValueError) as error:
        raise UserError(f'{path} cannot be read as a description of a network: {error}') from error


def timm_config(network: Mapping[str, Any], name: str | Path) -> Config | None:
    """Return the config of a network of timm and of its images; None if timm does not describe it.

    Raises:
        UserError: if the description, of the weights ``name``, has values that timm does not write.
    """
    if not isinstance(network.get('architecture'), str):
        return None
    try:
        images = network.get('pretrained_cfg') or network  # old files have one level
        arguments = dict(network.get('model_args') or {})
        channels, *size = (int(each) for each in images.get('input_size', (3, 224, 224)))
        channels, made_for = arguments.get('in_chans', channels), arguments.pop('img_size', None)
        if made_for is None and images.get('fixed_input_size'):
            made_for = size
        statistics = {key: [value * 255 for value in images[key]] for key in ('mean', 'std') if images.get(key)}
        edge = int(min(size) / (images.get('crop_pct') or 0.875) + 1e-6)  # timm rounds down
        by = images.get('interpolation') if images.get('interpolation') in ('bilinear', 'bicubic') else 'bicubic'
    except (AttributeError, TypeError, ValueError, ZeroDivisionError) as error:
        raise UserError(f'the description of the network of {name} is none that timm writes: {error}') from error
    arguments = {key: value for key, value in arguments.items() if key not in RESERVED_ARGUMENTS}
    sized = {} if made_for is None else dict(img_size=made_for)
    backbone = dict(
        type='TimmBackbone', name=network['architecture'], in_channels=channels, arguments=arguments, **sized
    )
    pipeline = [
        dict(type='mmpretrain.ResizeEdge', scale=edge, edge='short', backend='pillow', interpolation=by),
        dict(type='mmpretrain.CenterCrop', crop_size=tuple(size[::-1])),  # (width, height)
        dict(type='mmpretrain.PackInputs'),
    ]
    preprocessor = dict(type='mixcl.ViewPreprocessor', to_rgb=channels == 3, **statistics)
    model = dict(type='FrozenEncoder', backbone=backbone, data_preprocessor=preprocessor)
    named = dict(run_name=str(name)) if str(name).startswith(PUBLISHED) else {}
    return Config(dict(model=model, test_dataloader=dict(dataset=dict(pipeline=pipeline)), **named))
