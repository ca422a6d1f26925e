"""Masks of the patches that the online encoder does not see."""

import math
from collections.abc import Sequence

import torch
from torch import Tensor

from mixcl.errors import UserError
from mixcl.mixers.boxes import Boxes
from mixcl.ranges import SHARE, check_range

ASPECTS = (0.3, 1 / 0.3)
"""Ratios of height to width that blocks may have."""
ATTEMPTS = 10
"""Number of consecutive blocks that may fail to fit before an image is left as it is."""


class BlockMasks:
    """Masks made of blocks (BEiT, 2022, Algorithm 1) for a random subset of the images ("Image BERT Pre-Training with
    Online Tokenizer", iBOT, 2022).

    Args:
        share: lowest and highest share of the patches masked in a masked image; the highest is above 0.
        probability: probability that an image is masked.

    Raises:
        UserError: for an invalid share or probability.
    """

    def __init__(self, share: tuple[float, float] = (0.1, 0.5), probability: float = 0.5) -> None:
        check_range('model.streams: mask', SHARE, probability=probability)
        pair = isinstance(share, Sequence) and len(share) == 2 and all(map(SHARE.holds, share))
        if not pair or share[0] > share[1] or share[1] == 0:
            raise UserError(
                f'model.streams: mask has share={share!r}; write the lowest and the highest, above 0, as (0.1, 0.5)'
            )
        self.share = tuple(share)
        self.probability = probability

    def __call__(self, rows: int, grid: tuple[int, int], random: torch.Generator) -> Tensor:
        """Draw the masked cells of a grid (h, w): (rows, h, w) bool, on the CPU."""
        low, high = self.share
        share = low + (high - low) * torch.rand(rows, generator=random)
        masked = torch.rand(rows, generator=random) < self.probability
        return block_masks(share * masked * math.prod(grid), grid, random)


def block_masks(most: Tensor, grid: tuple[int, int], random: torch.Generator) -> Tensor:
    """Mask at most ``most`` cells per row, block by block, all rows at once.

    The area of a block lies between the square of a third of the grid's smaller side and the number of cells still to
    be masked. A block that fits is kept if it masks at least one new cell and at most that number.

    Args:
        most: (R,) largest number of cells to mask per row; a fraction counts for the areas, as in the authors' code.
        grid: (h, w).

    Returns:
        (R, h, w) bool.
    """
    rows, sides = len(most), torch.tensor(grid)
    masks = torch.zeros(rows, *grid, dtype=torch.bool)
    left, failed = most.clone(), torch.zeros(rows)
    smallest = (min(grid) // 3) ** 2
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
