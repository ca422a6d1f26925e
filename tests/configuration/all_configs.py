"""Every config of a method, read once per session and built without memory."""

import functools
from collections.abc import Iterator
from pathlib import Path
from unittest.mock import patch

import torch
from mmengine.config import Config
from mmengine.registry import DefaultScope
from torch import nn

from mixcl.recipes.prepared import prepared
from mixcl.registry import MODELS, thawed

FOLDER = Path(__file__).parents[2] / 'configs'
CONFIGS = {
    path.relative_to(FOLDER).with_suffix('').as_posix(): path
    for path in sorted(FOLDER.rglob('*.py'))
    if not {'_base_', 'evaluation', 'transfer'} & set(path.parts)
}


@functools.cache
def read(name: str) -> Config:
    """Return a full-size config with checked keys. Copy it before changing it."""
    return prepared(CONFIGS[name])


def build(cfg: Config) -> nn.Module:
    """Build the model on the device 'meta', where weights have a shape and take no memory."""
    # mmpretrain's ResNet reads its drop path rates while it is built.
    on_the_cpu = patch.object(torch, 'linspace', functools.partial(torch.linspace, device='cpu'))
    with DefaultScope.overwrite_default_scope('mixcl'), torch.device('meta'), on_the_cpu:
        return MODELS.build(thawed(cfg.model))


_built: dict[str, nn.Module] = {}


def built(name: str) -> nn.Module:
    """Return a config's model on the device 'meta'; configs with the same model share it."""
    key = str(read(name).model)
    if key not in _built:
        _built[key] = build(read(name))
    return _built[key]


def twins() -> Iterator[tuple[str, str]]:
    """Return pairs of names of configs that differ in CIFAR-10 and CIFAR-100."""
    return ((name.replace('_cifar100', '_cifar10'), name) for name in CONFIGS if '_cifar100' in name)
