"""Grids of patches that position embeddings stand for: the one place that decides which, and resizes to another."""

from collections.abc import Sequence
from typing import Any

from mmpretrain.models.utils import resize_pos_embed
from timm.layers import resample_abs_pos_embed
from torch import Tensor, nn
from torchvision.models import VisionTransformer

Grid = tuple[int, int]


def grid_of(backbone: nn.Module) -> Grid | None:
    """Return the (rows, columns) of the position embedding of a backbone of any library; None if it does not say."""
    model: Any = getattr(backbone, 'model', backbone)
    if isinstance(model, VisionTransformer):
        return (model.image_size // model.patch_size,) * 2
    found = getattr(backbone, 'position_resolution', None) or getattr(backbone, 'patch_resolution', None)
    found = found or getattr(getattr(model, 'patch_embed', None), 'grid_size', None)
    return tuple(found) if found else None


def grid_of_tokens(
    tokens: int, shape: Sequence[int] = (1, 1), extra: Sequence[int] = (0, 1)
) -> tuple[int, Grid] | None:
    """Return how many tokens are no patches, the first of ``extra`` that fits, and the grid of the others.

    The grid has the proportions of images of ``shape``, (height, width), by default a square. None if none fits.
    """
    height, width = shape
    for number in extra:
        patches = tokens - number
        rows = round((max(patches, 0) * height / width) ** 0.5)
        # Patches that stand out of the image are left out, so that the proportions may differ by less than one.
        if rows and patches % rows == 0 and abs(rows * width - patches // rows * height) < max(shape):
            return number, (rows, patches // rows)
    return None


def resized(backbone: nn.Module, position: Tensor, old: Grid, new: Grid, extra: int) -> Tensor:
    """Resize a position embedding (1, extra + patches, C), bicubic, as the backbone's library does."""
    if hasattr(getattr(getattr(backbone, 'model', backbone), 'patch_embed', None), 'grid_size'):
        return resample_abs_pos_embed(position, list(new), list(old), extra)
    return resize_pos_embed(position, old, new, getattr(backbone, 'interpolate_mode', 'bicubic'), extra)
