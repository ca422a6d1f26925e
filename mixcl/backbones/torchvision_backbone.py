"""Every image classifier of torchvision by its name, without its classifier."""

from typing import Any

import torchvision
from torch import nn

from mixcl.backbones.names import unknown_name
from mixcl.backbones.wrapped_backbone import WrappedBackbone
from mixcl.errors import UserError
from mixcl.registry import MODELS

CLASSIFIERS = ('fc', 'classifier', 'head', 'heads')
"""Names of the last part of torchvision's classifiers."""

BRANCHES = ('aux1', 'aux2', 'AuxLogits')
"""Names of GoogLeNet's and Inception's classifiers at other depths."""


@MODELS.register_module()
class TorchvisionBackbone(WrappedBackbone):
    """A classifier of torchvision whose last part is left out: (B, D), as before its first linear layer.

    Args:
        name: for example 'resnet50'.
        arguments: of the model, for example ``dict(zero_init_residual=True)``.
        in_channels: of the images; other than 3 replaces the first convolution.
        **training: of :class:`~mixcl.backbones.wrapped_backbone.WrappedBackbone`.

    Raises:
        UserError: if torchvision has no such classifier.
    """

    def __init__(
        self, name: str, arguments: dict[str, Any] | None = None, in_channels: int = 3, **training: Any
    ) -> None:
        known = torchvision.models.list_models(module=torchvision.models)
        if name not in known:
            raise UserError(unknown_name('torchvision', name, known))
        model = torchvision.models.get_model(name, weights=None, **(arguments or {}))
        for last in CLASSIFIERS:
            _without_linear(model, last)
        _without_branches(model)
        if in_channels != 3:
            _replace_first_convolution(model, in_channels)
        super().__init__(model, **training)


def _without_linear(model: nn.Module, name: str) -> None:
    """Leave out a part from its first linear layer on, and SqueezeNet's convolution in its place; what stands before,
    such as a norm, stays, but no dropout."""
    part = getattr(model, name, None)
    if isinstance(part, nn.Sequential):
        end = next((n for n, layer in enumerate(part) if isinstance(layer, nn.Linear)), len(part))
        kept: nn.Sequential = part[:end]  # type: ignore[assignment]
        for number, layer in enumerate(kept):
            if isinstance(layer, (nn.Dropout, nn.Conv2d)):
                kept[number] = nn.Identity()
        setattr(model, name, kept)
    elif isinstance(part, nn.Linear):
        setattr(model, name, nn.Identity())


def _without_branches(model: Any) -> None:
    """Leave out what GoogLeNet and Inception have besides: classifiers at other depths, and dropout."""
    model.aux_logits = False
    for name in BRANCHES:
        if hasattr(model, name):
            setattr(model, name, None)
    if isinstance(getattr(model, 'dropout', None), nn.Dropout):
        model.dropout = nn.Identity()


def _replace_first_convolution(model: nn.Module, in_channels: int) -> None:
    name, old = next((name, part) for name, part in model.named_modules() if isinstance(part, nn.Conv2d))
    settings = {key: getattr(old, key) for key in ('kernel_size', 'stride', 'padding', 'dilation')}
    parent, _, last = name.rpartition('.')
    new = nn.Conv2d(in_channels, old.out_channels, bias=old.bias is not None, **settings)
    nn.init.kaiming_normal_(new.weight, mode='fan_out', nonlinearity='relu')
    setattr(model.get_submodule(parent), last, new)
