"""Stitch: a grid of whole images, each reduced."""

from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional

from mixcl.composition import Composition
from mixcl.errors import UserError
from mixcl.mixers.base import Mixer
from mixcl.ranges import SEVERAL, check_range
from mixcl.registry import MIXERS


@dataclass(frozen=True)
class StitchPlan:
    """Images of the mixtures of a step: (B, side * side) int64, the owner first."""

    sources: Tensor


@MIXERS.register_module()
class Stitch(Mixer):
    """m x m images of the batch, each reduced by m, side by side in one grid (after the abstract of "Multiple Object
    Stitching for Unsupervised Representation Learning", 2025; the rest of the paper was not read).

    Images form a random circle: mixture i shows image i and the m * m - 1 that follow, at places that are drawn for
    every stream and crop, the same for the whole batch. Every share is 1 / (m * m). Images are reduced by averaging.
    Where m does not divide their side, the last row and column of the grid are cut by less than m pixels.

    Args:
        side: m, the number of images per side, at least 2.

    Raises:
        UserError: for another ``side``; from :meth:`check`, if a batch has fewer than m * m images, or an image fewer
            than m pixels per side.
    """

    def __init__(self, side: int = 2) -> None:
        check_range('Stitch', SEVERAL, side=side)
        self.side = side

    def plan(self, num_images: int, generator: torch.Generator | None = None) -> StitchPlan:
        circle = torch.randperm(num_images, generator=generator)
        following = circle.argsort()[:, None] + torch.arange(self.side**2)
        return StitchPlan(circle[following % num_images])

    def place(
        self, images: Tensor, plan: StitchPlan, generator: torch.Generator | None = None
    ) -> tuple[Tensor, Composition]:
        side, (height, width) = self.side, images.shape[-2:]
        shown = torch.randperm(side**2, generator=generator).to(images.device, non_blocking=True)
        sources = plan.sources.to(images.device, non_blocking=True)
        small = functional.adaptive_avg_pool2d(images, (-(-height // side), -(-width // side)))
        placed = small[sources[:, shown]].unflatten(1, (side, side))  # (B, rows, columns, C, h, w)
        mixed = placed.permute(0, 3, 1, 4, 2, 5).flatten(4, 5).flatten(2, 3)[..., :height, :width].contiguous()
        weights = torch.full(sources.shape, 1 / side**2, device=images.device)
        cells = shown.view(side, side).expand(len(sources), side, side)
        return mixed, Composition(sources, weights, side**2, cells)

    def check(self, num_images: int, height: int, width: int) -> None:
        if num_images < self.side**2:
            raise UserError(
                f'Stitch: side={self.side} needs {self.side**2} images, but one process sees batches of {num_images}; '
                'raise batch (or at_once), or lower side'
            )
        if min(height, width) < self.side:
            raise UserError(f'Stitch: images of {height}x{width} pixels are smaller than side={self.side}; lower side')
