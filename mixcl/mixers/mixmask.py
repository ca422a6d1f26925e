"""MixMask: cells of a grid show the partner, block by block."""

import torch
from torch import Tensor

from mixcl.composition import Composition
from mixcl.errors import UserError
from mixcl.mixers.base import Mixer
from mixcl.mixers.block_masks import block_masks
from mixcl.mixers.pair import Pairs, pair_composition, pick_pairs
from mixcl.mixers.pairings import check_pairs, find_pairing
from mixcl.ranges import SEVERAL, SHARE, check_range
from mixcl.registry import MIXERS

SMALLEST_BLOCK = 4
"""Cells of the smallest block in the authors' code."""


@MIXERS.register_module()
class MixMask(Mixer):
    """The owner's pixels in blocks of cells of a grid, the partner's elsewhere, one mask for the whole batch ("MixMask:
    Revisiting Masking Strategy for Siamese ConvNets", 2022).

    The cells of the owner are drawn block by block as in BEiT (:func:`~mixcl.mixers.block_masks.block_masks`), which
    reaches ``share`` of the grid in most draws, and less in the others. The shares are counted in pixels. A mask is
    drawn for every stream and crop.

    Args:
        pairing: who is mixed with whom, see :class:`~mixcl.mixers.pair.PairMixer`.
        grid: cells per side. The authors' code has 4, and 8 in the command of their README.
        share: largest share of the cells that show the owner, at least 4 cells; rounded down to whole cells.

    Raises:
        UserError: for a grid or share out of range; from :meth:`check` and :meth:`place`, if an image has fewer pixels
            than the grid has cells; from :meth:`check`, for batches of one image.
    """

    keeps_place = True
    mixes_views = True

    def __init__(self, pairing: str = 'flip', grid: int = 4, share: float = 0.5) -> None:
        check_range('MixMask', SEVERAL, grid=grid)
        check_range('MixMask', SHARE, share=share)
        if share * grid**2 < SMALLEST_BLOCK:  # most masks would be empty, and mixtures the partners alone
            raise UserError(
                f'MixMask: share={share!r} of {grid}x{grid} cells is less than the smallest block, {SMALLEST_BLOCK} '
                'cells; raise grid or share'
            )
        self.pairing = find_pairing(pairing)
        self.grid = grid
        self.share = share

    def plan(self, num_images: int, generator: torch.Generator | None = None) -> Pairs:
        return Pairs(*self.pairing(num_images, generator))

    def place(
        self, images: Tensor, plan: Pairs, generator: torch.Generator | None = None
    ) -> tuple[Tensor, Composition]:
        self._check_size(*images.shape[-2:])
        most = torch.tensor([float(int(round(self.share * self.grid**2, 6)))])
        (cells,) = block_masks(most, (self.grid, self.grid), generator, SMALLEST_BLOCK)
        rows, columns = (torch.arange(length) * self.grid // length for length in images.shape[-2:])
        owned = cells[rows][:, columns]  # (H, W), enlarged by nearest neighbour
        share = owned.double().mean().expand(len(plan.owner))
        inside = (~owned).to(images.device, non_blocking=True)
        own, other = pick_pairs(images, plan.owner, plan.partner)
        shown = inside.expand(len(own), *inside.shape)
        return torch.where(inside, other, own), pair_composition(plan.owner, plan.partner, share, images.device, shown)

    def check(self, num_images: int, height: int, width: int) -> None:
        check_pairs('MixMask', num_images)
        self._check_size(height, width)

    def _check_size(self, height: int, width: int) -> None:
        if min(height, width) < self.grid:
            raise UserError(
                f'MixMask: images of {height}x{width} pixels cannot be cut into {self.grid}x{self.grid} cells; lower '
                f'grid={self.grid}'
            )
