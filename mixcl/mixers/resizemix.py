"""ResizeMix: one image, shrunk and pasted into the other."""

from dataclasses import replace
from typing import Literal

import torch
from torch import Tensor
from torch.nn import functional

from mixcl.composition import Composition
from mixcl.errors import UserError
from mixcl.mixers.boxes import (
    Boxes,
    box_sides,
    boxes_around,
    centres_anywhere,
    centres_inside,
    paste,
    share_outside,
)
from mixcl.mixers.pair import PairMixer, PairPlan, pair_composition, pick_pairs
from mixcl.registry import MIXERS


@MIXERS.register_module()
class ResizeMix(PairMixer):
    """The whole partner image, shrunk into a box within the owner's image (SDMP, 2022).

    The drawn lambda is rescaled to 0.8 * lambda + 0.1, so that neither image disappears; the box has sides
    H * sqrt(1 - lambda) and W * sqrt(1 - lambda), rounded down to even numbers. The partner is resized bilinearly,
    without anti-aliasing.

    Args:
        pairing: who is mixed with whom, see :class:`~mixcl.mixers.pair.PairMixer`.
        share: config of the distribution of lambda. Default: Beta(1, 1).
        per_sample: whether every mixture has its own lambda and box; if not, the batch has one.
        box_share: 'exact' counts the pasted pixels; 'code' takes the sides before they are rounded to even numbers, as
            in the code of SDMP's authors, off by up to one row and one column.

    Raises:
        UserError: for another ``box_share``, or what :class:`~mixcl.mixers.pair.PairMixer` raises.
    """

    def __init__(
        self,
        pairing: str = 'flip',
        share: dict | None = None,
        per_sample: bool = True,
        box_share: Literal['exact', 'code'] = 'exact',
    ) -> None:
        super().__init__(pairing, share, per_sample)
        if box_share not in ('exact', 'code'):
            raise UserError(f"ResizeMix: box_share must be 'exact' or 'code', not {box_share!r}")
        self.box_share = box_share

    def place(
        self, images: Tensor, plan: PairPlan, generator: torch.Generator | None = None
    ) -> tuple[Tensor, Composition]:
        size = images.shape[-2:]
        sides = box_sides(0.8 * plan.share.double() + 0.1, size)
        boxes = boxes_around(centres_inside(self.positions(plan, generator), sides, size), sides, size)
        share = share_outside(sides if self.box_share == 'code' else boxes.sides, size)
        own, other = pick_pairs(images, plan.owner, plan.partner)
        boxes = boxes.to(images.device)
        mixed, inside = paste(own, fit_bilinear(other, boxes), boxes)
        return mixed, pair_composition(plan.owner, plan.partner, share, images.device, inside)


@MIXERS.register_module()
class OriginalResizeMix(PairMixer):
    """ResizeMix as first published ("ResizeMix: Mixing Data with Preserved Object Information", 2020).

    The sides of the box are the image's times a drawn scale, rounded down to even numbers. Its centre lies anywhere on
    the image; it is clipped at the border. The whole partner is resized to the clipped box by nearest neighbours. The
    shares are counted in pixels after clipping.

    Args:
        pairing: who is mixed with whom, see :class:`~mixcl.mixers.pair.PairMixer`.
        scale: config of the distribution of the scale. Default: uniform between 0.1 and 0.8.
        per_sample: whether every mixture has its own scale and box; if not, the batch has one.
    """

    def __init__(self, pairing: str = 'flip', scale: dict | None = None, per_sample: bool = True) -> None:
        super().__init__(pairing, dict(type='Uniform', low=0.1, high=0.8) if scale is None else scale, per_sample)

    def plan(self, num_images: int, generator: torch.Generator | None = None) -> PairPlan:
        plan = super().plan(num_images, generator)
        return replace(plan, share=1 - plan.share.double().square())

    def place(
        self, images: Tensor, plan: PairPlan, generator: torch.Generator | None = None
    ) -> tuple[Tensor, Composition]:
        size = images.shape[-2:]
        centres = centres_anywhere(self.positions(plan, generator), size)
        boxes = boxes_around(centres, box_sides(plan.share, size), size)
        share = boxes.share_outside(size)
        own, other = pick_pairs(images, plan.owner, plan.partner)
        boxes = boxes.to(images.device)
        mixed, inside = paste(own, fit_nearest(other, boxes), boxes)
        return mixed, pair_composition(plan.owner, plan.partner, share, images.device, inside)


def fit_bilinear(images: Tensor, boxes: Boxes) -> Tensor:
    """Resize each whole image (R, C, H, W) into its box; values outside the boxes mean nothing.

    Inside it equals ``torch.nn.functional.interpolate(mode='bilinear', align_corners=False)``. One call serves the
    whole batch, although every box has its own size.
    """
    # Half precision cannot tell neighbouring pixels of an image apart.
    precision = torch.promote_types(images.dtype, torch.float32)
    rows, columns = (
        2 * (pixels.to(precision) + 0.5) / sides - 1 for pixels, sides in _box_coordinates(images.shape[-2:], boxes)
    )
    shape = (len(images), *images.shape[-2:])
    grid = torch.stack([columns[:, None, :].expand(shape), rows[:, :, None].expand(shape)], dim=-1)
    sampled = functional.grid_sample(images.to(precision), grid, padding_mode='border', align_corners=False)
    return sampled.to(images.dtype)


def fit_nearest(images: Tensor, boxes: Boxes) -> Tensor:
    """Resize each whole image (R, C, H, W) into its box by nearest neighbours; see :func:`fit_bilinear`."""
    rows, columns = (
        (pixels * length // sides).clamp(0, length - 1)
        for length, (pixels, sides) in zip(images.shape[-2:], _box_coordinates(images.shape[-2:], boxes), strict=True)
    )
    return images.take_along_dim(rows[:, None, :, None], dim=2).take_along_dim(columns[:, None, None, :], dim=3)


def _box_coordinates(size: torch.Size, boxes: Boxes) -> list[tuple[Tensor, Tensor]]:
    """Return, for rows, then columns: pixels from the start of the box (R, length), and its side (R, 1), at least 1."""
    return [
        (torch.arange(length, device=boxes.start.device) - boxes.start[:, axis, None], side[:, None].clamp_min(1))
        for axis, (length, side) in enumerate(zip(size, boxes.sides.unbind(1), strict=True))
    ]
