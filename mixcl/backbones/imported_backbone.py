"""Your own module as a backbone, by the path under which Python imports it."""

import difflib
from importlib import import_module
from typing import Any

from torch import nn

from mixcl.backbones.wrapped_backbone import WrappedBackbone
from mixcl.errors import UserError
from mixcl.registry import MODELS


@MODELS.register_module()
class ImportedBackbone(WrappedBackbone):
    """An ``nn.Module`` that maps images (B, C, H, W) to (B, D) or (B, D, h, w), or a function that returns one.

    Args:
        path: 'package.module:Name'.
        arguments: of the class or function.
        in_channels: of the images; other than 3 is handed on as an argument of that name.
        frozen_blocks, lora: of :class:`~mixcl.backbones.wrapped_backbone.WrappedBackbone`.

    Raises:
        UserError: if there is no such class, or it gives no module.
    """

    def __init__(
        self,
        path: str,
        arguments: dict[str, Any] | None = None,
        in_channels: int = 3,
        frozen_blocks: int | None = None,
        lora: dict | None = None,
    ) -> None:
        given = dict(arguments or {})
        if in_channels != 3:
            given['in_channels'] = in_channels
        model = imported(path)(**given)
        if not isinstance(model, nn.Module):
            raise UserError(f'{path} gives a {type(model).__name__}, but a backbone is a torch.nn.Module')
        super().__init__(model, frozen_blocks, lora)


def imported(path: str) -> Any:
    """The class or function of a path 'package.module:Name'.

    Raises:
        UserError: if it cannot be imported.
    """
    module_name, _, name = path.partition(':')
    try:
        module = import_module(module_name)
    except ImportError as error:
        raise UserError(
            f'--backbone {path}: {module_name} cannot be imported ({error}); it must lie in the current folder or be '
            'installed'
        ) from error
    found = getattr(module, name, None)
    if not callable(found):
        near = difflib.get_close_matches(name, vars(module), n=1)
        meant = f'; did you mean {near[0]!r}?' if near else ''
        raise UserError(f'--backbone {path}: {module_name} has no class or function {name!r}{meant}')
    return found
