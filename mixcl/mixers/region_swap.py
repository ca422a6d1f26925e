"""RegionSwap: the images of a batch exchange one rectangle."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from mixcl.composition import Composition
from mixcl.errors import UserError
from mixcl.mixers.base import Mixer
from mixcl.mixers.boxes import Boxes, paste
from mixcl.mixers.pair import Pairs, pair_composition, pick_pairs
from mixcl.mixers.pairings import check_pairs, find_pairing
from mixcl.ranges import COUNT, check_range
from mixcl.registry import MIXERS


@dataclass(frozen=True)
class RegionPlan(Pairs):
    """Pairs, and the size of this step's rectangle.

    Attributes:
        sides: (2,) int64, height and width in pixels.
    """

    sides: Tensor


@MIXERS.register_module()
class RegionSwap(Mixer):
    """The partner's pixels in a rectangle of the owner's image, one for the whole batch (RegionCL, 2022).

    The rectangle lies on a grid of cells, so that it fills whole cells of the last feature map. The mixture is embedded
    as a whole and counts as its two images by area; RegionCL's separate pooling of the two regions is not included.
    The size of the rectangle is drawn once a step, its place for every stream and crop.

    Args:
        pairing: who is mixed with whom, see :class:`~mixcl.mixers.pair.PairMixer`.
        cell: side of a cell in pixels; by default two patches of the backbone, 32 if it has no patches.
        cells: possible heights and widths of the rectangle in cells; height and width are drawn independently.

    Raises:
        UserError: for arguments that are not positive integers; from :meth:`check` and :meth:`place`, if an image has
            fewer cells than the largest of ``cells``; from :meth:`check`, for batches of one image.
    """

    keeps_place = True
    mixes_views = True

    def __init__(self, pairing: str = 'flip', cell: int | None = None, cells: Sequence[int] = (3, 4, 5)) -> None:
        self.cell, self.follows = (32, True) if cell is None else (cell, False)
        check_range('RegionSwap', COUNT, cell=self.cell)
        if not isinstance(cells, Sequence) or not cells or not all(map(COUNT.holds, cells)):
            raise UserError(f'RegionSwap: cells must be a list of positive integers, not {cells!r}')
        self.pairing = find_pairing(pairing)
        self.cells = tuple(cells)

    def follow(self, patch_size: int | None) -> None:
        if self.follows and patch_size is not None:
            self.cell = 2 * patch_size

    def plan(self, num_images: int, generator: torch.Generator | None = None) -> RegionPlan:
        owner, partner = self.pairing(num_images, generator)
        chosen = torch.randint(len(self.cells), (2,), generator=generator)
        return RegionPlan(owner, partner, self.cell * torch.tensor(self.cells)[chosen])

    def place(
        self, images: Tensor, plan: RegionPlan, generator: torch.Generator | None = None
    ) -> tuple[Tensor, Composition]:
        size = images.shape[-2:]
        self._check_size(*size)
        choices = (torch.tensor(size) - plan.sides) // self.cell + 1  # grid positions, vertical and horizontal
        start = self.cell * (torch.rand(2, generator=generator, dtype=torch.float64) * choices).long()
        rows = len(plan.owner)
        boxes = Boxes(start.expand(rows, 2), (start + plan.sides).expand(rows, 2))
        own, other = pick_pairs(images, plan.owner, plan.partner)
        mixed, inside = paste(own, other, boxes.to(images.device))
        return mixed, pair_composition(plan.owner, plan.partner, boxes.share_outside(size), images.device, inside)

    def check(self, num_images: int, height: int, width: int) -> None:
        check_pairs('RegionSwap', num_images)
        self._check_size(height, width)

    def _check_size(self, height: int, width: int) -> None:
        if min(height, width) // self.cell < max(self.cells):
            raise UserError(
                f'RegionSwap: images of {height}x{width} pixels have {height // self.cell}x{width // self.cell} cells '
                f'of cell={self.cell} pixels, fewer than the {max(self.cells)} of cells={self.cells}; lower cell or '
                'cells'
            )
