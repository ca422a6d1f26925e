"""A user's module as a backbone, given by its import path."""

import pkgutil
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
        arguments: arguments of the class or function.
        in_channels: channels of the images; passed on as an argument of that name unless 3.
        **training: arguments of :class:`~mixcl.backbones.wrapped_backbone.WrappedBackbone`.

    Raises:
        UserError: if the path cannot be imported, or gives no module.
    """

    def __init__(
        self, path: str, arguments: dict[str, Any] | None = None, in_channels: int = 3, **training: Any
    ) -> None:
        if ':' not in path:  # a foreign file may hold any word, which must not import anything
            raise UserError(f'the backbone {path} has no colon: write package.module:Name')
        try:
            build: Any = pkgutil.resolve_name(path)
        except Exception as error:  # importing runs code, which may raise anything
            raise UserError(
                f'`backbone={path}` cannot be imported ({" ".join(str(error).split())}); it must lie in a folder of '
                'PYTHONPATH or be installed'
            ) from error
        channels = {} if in_channels == 3 else dict(in_channels=in_channels)
        model = build(**(arguments or {}), **channels) if callable(build) else build
        if not isinstance(model, nn.Module):
            raise UserError(f'{path} gives a {type(model).__name__}, but a backbone is a torch.nn.Module')
        super().__init__(model, **training)
