"""Axis-aligned boxes in images, one per mixture, and how one image is pasted into another."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass(frozen=True)
class Boxes:
    """R boxes in pixels, as (vertical, horizontal) pairs. A box whose start is its stop is empty.

    Attributes:
        start: (R, 2) int64, the first row and column inside.
        stop: (R, 2) int64, the first row and column beyond.
    """

    start: Tensor
    stop: Tensor

    @property
    def sides(self) -> Tensor:
        """(R, 2) int64 height and width."""
        return self.stop - self.start

    def to(self, device: torch.device) -> 'Boxes':
        """Return the boxes on a device."""
        return Boxes(self.start.to(device, non_blocking=True), self.stop.to(device, non_blocking=True))

    def inside(self, size: Sequence[int]) -> Tensor:
        """Mark the pixels of images of size (H, W) that lie in the boxes: (R, 1, H, W) bool."""
        rows, columns = (
            (along >= self.start[:, axis, None]) & (along < self.stop[:, axis, None])
            for axis, along in enumerate(torch.arange(length, device=self.start.device) for length in size)
        )
        return (rows[:, :, None] & columns[:, None, :])[:, None]

    def share_outside(self, size: Sequence[int]) -> Tensor:
        """Compute the share of the pixels of images of size (H, W) outside the boxes: (R,) float64."""
        return share_outside(self.sides, size)


def share_outside(sides: Tensor, size: Sequence[int]) -> Tensor:
    """Compute 1 - box height * box width / (H * W), (R,) float64, from sides (R, 2)."""
    return 1 - sides.prod(dim=1).double() / (size[0] * size[1])


def box_sides(own_share: Tensor, size: Sequence[int]) -> Tensor:
    """Compute (R, 2) int64 sides, rounded down, of boxes that leave ``own_share`` (R,) of images of size (H, W).

    CutMix (2019), Eq. 2: height H * sqrt(1 - lambda), width W * sqrt(1 - lambda).
    """
    ratio = (1 - own_share.double()).sqrt()
    return (ratio[:, None] * torch.tensor(size)).long()


def centres_anywhere(positions: Tensor, size: Sequence[int]) -> Tensor:
    """Return (R, 2) int64 centres, uniform on images of size (H, W), from positions (R, 2) in [0, 1)."""
    return (positions * torch.tensor(size)).long()


def centres_inside(positions: Tensor, sides: Tensor, size: Sequence[int]) -> Tensor:
    """Return (R, 2) int64 centres that keep boxes of these sides in the image, from positions (R, 2) in [0, 1).

    Centres are uniform from half a side to the image's side less half a side, exclusive.
    """
    half = sides // 2
    return half + (positions * (torch.tensor(size) - 2 * half)).long()


def boxes_around(centres: Tensor, sides: Tensor, size: Sequence[int]) -> Boxes:
    """Make boxes of twice half a side (rounded down) around centres (R, 2), clipped to images of size (H, W)."""
    half = sides // 2
    limit = torch.tensor(size)
    return Boxes((centres - half).clamp_min(0), torch.minimum(centres + half, limit))


def paste(images: Tensor, pasted: Tensor, boxes: Boxes) -> tuple[Tensor, Tensor]:
    """Paste the pixels of ``pasted`` inside the boxes into ``images``, both (R, C, H, W); all on one device.

    CutMix (2019), Eq. 1.

    Returns:
        The images (R, C, H, W), and (R, H, W) bool, true inside.
    """
    inside = boxes.inside(images.shape[-2:])
    return torch.where(inside, pasted, images), inside[:, 0]
