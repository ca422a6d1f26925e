"""Masks made of blocks, which hide cells of a grid over images."""

import math

import torch
from torch import Tensor

from mixcl.mixers.boxes import Boxes

ASPECTS = (0.3, 1 / 0.3)
"""Ratios of height to width that blocks may have."""
ATTEMPTS = 10
"""Number of consecutive blocks that may fail to fit before an image is left as it is."""


def block_masks(
    most: Tensor, grid: tuple[int, int], random: torch.Generator | None = None, smallest: int | None = None
) -> Tensor:
    """Mask at most ``most`` cells per row, block by block, all rows at once (BEiT, 2022, Algorithm 1).

    The area of a block lies between ``smallest`` and the number of cells still to be masked. A block that fits is kept
    if it masks at least one new cell and at most that number.

    Args:
        most: (R,) largest number of cells to mask per row; a fraction counts for the areas, as in the authors' code.
        grid: (h, w).
        random: generator of all draws.
        smallest: cells of the smallest block; by default the square of a third of the grid's smaller side (iBOT).

    Returns:
        (R, h, w) bool, on the CPU.
    """
    rows, sides = len(most), torch.tensor(grid)
    masks = torch.zeros(rows, *grid, dtype=torch.bool)
    left, failed = most.clone(), torch.zeros(rows)
    smallest = (min(grid) // 3) ** 2 if smallest is None else smallest
    while (active := (left > 0) & (failed < ATTEMPTS)).any():
        area, aspect, *place = torch.rand(4, rows, generator=random)
        area = smallest + (left - smallest) * area
        aspect = torch.exp(math.log(ASPECTS[0]) + math.log(ASPECTS[1] / ASPECTS[0]) * aspect)
        size = torch.stack([(area * aspect).sqrt(), (area / aspect).sqrt()], dim=1).round().long()
        start = (torch.stack(place, dim=1) * (sides - size + 1)).long()
        new = Boxes(start, start + size).inside(grid)[:, 0] & ~masks
        gained = new.sum(dim=(1, 2))
        fits = active & (size < sides).all(dim=1) & (gained > 0) & (gained <= left)
        masks |= new & fits[:, None, None]
        left = torch.where(fits, left - gained, left)
        failed = torch.where(fits, 0, failed + 1)
    return masks
