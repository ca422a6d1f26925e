"""The patches that a built backbone of any library cuts images into."""

from typing import Any

import torchvision
from mmpretrain.models import BEiTViT, VisionTransformer
from torch import nn


def patch_size_of(backbone: nn.Module) -> int | None:
    """Return the side in pixels of the patches that are embedded; None if there are none, or they are not square."""
    model: Any = getattr(backbone, 'model', backbone)
    size = getattr(backbone, 'patch_size', None)
    if size is None and isinstance(model, torchvision.models.VisionTransformer):
        size = model.patch_size
    projection = getattr(getattr(model, 'patch_embed', None), 'projection', None)
    if size is None and isinstance(projection, nn.Conv2d) and projection.stride == projection.kernel_size:
        (size, width) = projection.kernel_size  # mmpretrain's, which stores it nowhere else
        size = size if size == width else None
    return size if isinstance(size, int) else None


def plain_patch_size(backbone: nn.Module) -> int | None:
    """Return the side of a patch in pixels if all blocks have the same patches; None for Swin, which merges them."""
    model: Any = getattr(backbone, 'model', backbone)
    size, stages = patch_size_of(backbone), getattr(model, 'feature_info', None)  # of timm
    plain = isinstance(model, (VisionTransformer, BEiTViT, torchvision.models.VisionTransformer))
    return size if plain or (isinstance(stages, list) and stages[-1]['reduction'] == size) else None
