"""Any torchvision image classifier by its name, without the classification layers."""

import inspect
from collections.abc import Sequence
from typing import Any

import torchvision
from torch import nn

from mixcl.backbones.names import unknown_name
from mixcl.backbones.wrapped_backbone import WrappedBackbone
from mixcl.errors import UserError
from mixcl.registry import MODELS, keywords_of

CLASSIFIERS = ('fc', 'classifier', 'head', 'heads')
"""Names of the last part of torchvision's models."""

BRANCHES = ('aux1', 'aux2', 'AuxLogits')
"""Names of the auxiliary classifiers of GoogLeNet and Inception."""


@MODELS.register_module()
class TorchvisionBackbone(WrappedBackbone):
    """A torchvision classifier without its last part: (B, D), the input of its first linear layer.

    Args:
        name: for example 'resnet50'.
        arguments: arguments of the model, for example ``dict(zero_init_residual=True)``.
        in_channels: channels of the images; the first convolution is replaced unless 3.
        img_size: side of the images, (height, width) if these are equal, for vision transformers; other models ignore
            it. ``image_size`` in ``arguments`` takes precedence.
        **training: arguments of :class:`~mixcl.backbones.wrapped_backbone.WrappedBackbone`.

    Raises:
        UserError: if torchvision has no such classifier.
    """

    def __init__(
        self,
        name: str,
        arguments: dict[str, Any] | None = None,
        in_channels: int = 3,
        img_size: int | Sequence[int] | None = None,
        **training: Any,
    ) -> None:
        known = torchvision.models.list_models(module=torchvision.models)
        if name not in known:
            raise UserError(unknown_name('torchvision', name, known))
        builder = torchvision.models.get_model_builder(name)
        kind = inspect.signature(builder).return_annotation
        sized = dict(image_size=_side(name, img_size)) if img_size and 'image_size' in keywords_of(kind) else {}
        given = sized | (arguments or {})
        model: Any = builder(weights=None, **given)
        for last in CLASSIFIERS:
            _without_linear(model, last)
        _without_branches(model)
        if in_channels != 3:
            _replace_first_convolution(model, in_channels)
        super().__init__(model, **training)
        self.arguments = given


def _side(name: str, size: int | Sequence[int]) -> int:
    sides = {size} if isinstance(size, int) else set(size)
    if len(sides) > 1:
        raise UserError(f'torchvision:{name} takes square images only, not img_size={size!r}')
    return sides.pop()


def _without_linear(model: nn.Module, name: str) -> None:
    """Remove the first linear layer of a classifier and all after it (for SqueezeNet, only its convolution).

    Layers before it, such as a norm, stay, except dropout.
    """
    classifier = getattr(model, name, None)
    if isinstance(classifier, nn.Sequential):
        end = next((n for n, layer in enumerate(classifier) if isinstance(layer, nn.Linear)), len(classifier))
        kept: nn.Sequential = classifier[:end]  # type: ignore[assignment]
        for number, layer in enumerate(kept):
            if isinstance(layer, (nn.Dropout, nn.Conv2d)):
                kept[number] = nn.Identity()
        setattr(model, name, kept)
    elif isinstance(classifier, nn.Linear):
        setattr(model, name, nn.Identity())


def _without_branches(model: Any) -> None:
    """Remove the auxiliary classifiers and the dropout of GoogLeNet and Inception."""
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
