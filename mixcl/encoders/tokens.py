"""Tokens: what a backbone of any library gives for each cell of an image, a patch or a place of the last map."""

import inspect
from typing import Any, NamedTuple

from mmpretrain.models import BEiTViT, VisionTransformer
from torch import Tensor, nn
from torch.nn.functional import interpolate
from torchvision.models import VisionTransformer as TorchvisionViT

from mixcl.backbones import TorchvisionBackbone
from mixcl.backbones.patch_size import plain_patch_size
from mixcl.backbones.position_grids import Grid, grid_of_tokens
from mixcl.backbones.torchvision_backbone import CLASSIFIERS
from mixcl.encoders.outputs import last_output, outputs_of, pooled_output
from mixcl.encoders.widths import SIZES, evaluating, image_channels, own_sizes
from mixcl.errors import UserError
from mixcl.heads.mlp import pooled
from mixcl.randomness import undisturbed_generators


class Encoded(NamedTuple):
    """Features (B, C) of images, and their tokens (B, h, w, C), row by row."""

    features: Tensor
    tokens: Tensor


def encoded(backbone: nn.Module, images: Tensor, **hidden: Tensor) -> Encoded:
    """Encode images (B, 3, H, W) once, to features and tokens.

    The tokens of vision transformers are their patches after the last norm, without class and register tokens; those of
    other backbones are the places of the last map.

    Args:
        backbone: of mmpretrain, timm, torchvision or a user's.
        images: normalised.
        **hidden: arguments of the backbone that hide patches, ``mask`` or ``tokens``.

    Raises:
        UserError: if the backbone gives one vector for an image, and nothing tells what it was made of.
    """
    model: Any = getattr(backbone, 'model', backbone)
    if isinstance(backbone, (VisionTransformer, BEiTViT)):
        raw = _raw(backbone, images, **hidden)
        tokens = _gridded(raw, images, [backbone.num_extra_tokens])
        return Encoded(pooled_output(backbone._format_output(raw, tokens.shape[1:3]), backbone), tokens)
    if hasattr(model, 'forward_features') and hasattr(model, 'forward_head'):  # timm
        found = model.forward_features(images)
        return Encoded(pooled(model.forward_head(found)), _of_timm(model, found, images))
    if isinstance(model, TorchvisionViT):
        outputs: list[Any] = []
        (raw,) = outputs_of([model.encoder], lambda: outputs.append(backbone(images)))
        return Encoded(pooled_output(outputs[0], backbone), _gridded(raw, images, [1]))
    if isinstance(backbone, TorchvisionBackbone):
        outputs = []
        found = outputs_of(_before_pooling(model), lambda: outputs.append(backbone(images)))
        last = [each for each in found if isinstance(each, Tensor) and each.dim() == 4][-1]
        return Encoded(pooled_output(outputs[0], backbone), last.permute(0, 2, 3, 1))
    last = last_output(backbone(images))
    if last.dim() != 4:
        raise UserError(
            f'{type(model).__name__} gives features of shape {tuple(last.shape)}, and no map, so that there are no '
            'tokens: let its forward return (B, C, h, w), or take a backbone of timm or torchvision by its name'
        )
    return Encoded(pooled(last), last.permute(0, 2, 3, 1))


def tokens_of(backbone: nn.Module, images: Tensor) -> Tensor:
    """Return the tokens (B, h, w, C) of :func:`encoded`."""
    return encoded(backbone, images).tokens


def resized(tokens: Tensor, grid: Grid) -> Tensor:
    """Return tokens (B, h, w, C) on another grid, bilinear; a teacher's cells are then those of its student."""
    if tokens.shape[1:3] == grid:
        return tokens
    maps = interpolate(tokens.permute(0, 3, 1, 2), grid, mode='bilinear', align_corners=False, antialias=True)
    return maps.permute(0, 2, 3, 1)


def cell_size_of(backbone: nn.Module) -> Grid:
    """Return the (height, width) in pixels of what a token stands for, found by encoding a black image."""
    if size := plain_patch_size(backbone):
        return size, size
    side = next(iter(own_sizes(backbone)), SIZES[1])
    height, width = (side, side) if isinstance(side, int) else side
    rows, columns = grid_of_image(backbone, (height, width))
    return round(height / rows), round(width / columns)


def grid_of_image(backbone: nn.Module, size: Grid) -> Grid:
    """Return the (rows, columns) of the tokens of images of a size, (height, width), found by encoding a black one."""
    with evaluating(backbone), undisturbed_generators():
        black = next(backbone.parameters()).new_zeros(1, image_channels(backbone), *size)
        return tuple(tokens_of(backbone, black).shape[1:3])  # type: ignore[return-value]


def _raw(backbone: Any, images: Tensor, **hidden: Tensor) -> Tensor:
    """Return all tokens (B, n, C) after the last norm, whatever the output type of a transformer of mmpretrain."""
    if 'out_type' in inspect.signature(backbone.forward).parameters:
        return last_output(backbone(images, out_type='raw', **hidden))
    configured, backbone.out_type = backbone.out_type, 'raw'
    try:
        return last_output(backbone(images, **hidden))
    finally:
        backbone.out_type = configured


def _of_timm(model: Any, found: Any, images: Tensor) -> Tensor:
    if not isinstance(found, Tensor):
        raise UserError(f'{type(model).__name__} of timm has several branches, and so no tokens: take another backbone')
    if found.dim() == 3:
        extra = getattr(model, 'num_prefix_tokens', None)
        return _gridded(found, images, [0, 1] if extra is None else [extra])
    is_last = getattr(model, 'output_fmt', '') == 'NHWC' or found.shape[1] != model.num_features
    return found if is_last else found.permute(0, 2, 3, 1)


def _gridded(tokens: Tensor, images: Tensor, extra: list[int]) -> Tensor:
    """Return (B, h, w, C) of tokens (B, n + h * w, C), n of ``extra``; the grid has the proportions of the images."""
    number, grid = grid_of_tokens(tokens.shape[1], images.shape[-2:], extra) or (0, None)
    if grid is None or tokens.shape[1] == 1 < len(extra):  # a class token alone
        raise UserError(f'{tokens.shape[1]} tokens are no grid over images of {tuple(images.shape[-2:])} pixels')
    return tokens[:, number:].unflatten(1, grid)


def _before_pooling(model: nn.Module) -> list[nn.Module]:
    """Return the parts of a convolutional network of torchvision, up to where it averages its last map."""
    parts: list[nn.Module] = []
    for name, part in model.named_children():
        if name in CLASSIFIERS or isinstance(part, nn.AdaptiveAvgPool2d):
            break
        parts += part if isinstance(part, nn.ModuleList) else [part]  # lists are never called
    return parts
