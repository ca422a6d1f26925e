"""Masks of the patches that the online encoder does not see."""

import math
from collections.abc import Sequence

import torch
from torch import Tensor

from mixcl.errors import UserError
from mixcl.mixers.block_masks import block_masks
from mixcl.ranges import SHARE, check_range


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
