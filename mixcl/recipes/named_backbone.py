"""Replacement of a config's backbone by name; all that depends on the backbone follows."""

from typing import Any

import timm
import torchvision

from mixcl.errors import UserError

KEPT = ('in_channels', 'frozen_blocks', 'lora')
"""Settings of the old backbone that the new one keeps."""


def backbone_config(name: str) -> dict[str, Any]:
    """Return the config of the backbone named 'timm:NAME', 'torchvision:NAME' or 'package.module:Class'.

    Raises:
        UserError: if the name has no such form; the message says which libraries have a model of that name.
    """
    library, _, rest = name.partition(':')
    if rest and library == 'timm':
        return dict(type='TimmBackbone', name=rest)
    if rest and library == 'torchvision':
        return dict(type='TorchvisionBackbone', name=rest)
    if rest:
        return dict(type='ImportedBackbone', path=name)
    known = dict(timm=timm.is_model(name), torchvision=name in torchvision.models.list_models())
    found = ' or '.join(f'{library}:{name}' for library, has_it in known.items() if has_it)
    raise UserError(
        f'`backbone={name}` names no library; write '
        + (found or 'timm:NAME, torchvision:NAME or the path of a class of yours, package.module:Class')
    )
