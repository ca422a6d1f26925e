"""One record for the rows of a step: what an encoder sees, and what each row counts as."""

from dataclasses import dataclass, replace
from typing import Literal, NamedTuple

import torch
from torch import Tensor

from mixcl.composition import Composition

Level = Literal['image', 'patch']


class RowsOf(NamedTuple):
    """Which rows of a step are meant: a stream's images, or patches of them."""

    stream: str
    level: Level = 'image'

    def __str__(self) -> str:
        return self.stream + (' patches' if self.level == 'patch' else '')


@dataclass(frozen=True)
class Stream:
    """Named rows of a step, as one encoder sees them: images, or some of their patches.

    Attributes:
        name: name of the stream.
        images: (B, 3, H, W) float, normalised.
        composition: what the rows count as, by global image ids.
        tokens: (B, n) int64 indices of the patches that the backbone keeps; None for all.
        mask: (B, h, w) bool, on the CPU: the patches in whose place the backbone sees its mask token; None for none.
        group: streams of one group share a forward pass and its batch-norm statistics.
        cells: (Q,) int64 ``image * number of patches + patch``, if the rows are patches; None if they are the images.
        cell_grid: rows and columns of the grid that these patches are cells of, by the online backbone.
        share: (Q,) float, weight of each patch in the mean over images of the mean over an image's patches.
    """

    name: str
    images: Tensor
    composition: Composition
    tokens: Tensor | None = None
    mask: Tensor | None = None
    group: int = 0
    cells: Tensor | None = None
    cell_grid: tuple[int, int] | None = None
    share: Tensor | None = None

    @property
    def rows(self) -> RowsOf:
        """Which rows these are."""
        return RowsOf(self.name, 'image' if self.cells is None else 'patch')

    def grid(self, patch_size: int) -> tuple[int, int]:
        """Count the rows and columns of patches of an image."""
        height, width = self.images.shape[-2:]
        return height // patch_size, width // patch_size

    def dropped(self, keep: float, patch_size: int, random: torch.Generator) -> 'Stream':
        """Return the stream with a random share ``keep`` of the patches of each image, at least one.

        Patches are drawn image by image, the same number for all, as in "Accelerating Augmentation Invariance
        Pretraining" (2024). The composition counts the kept patches.
        """
        grid = self.grid(patch_size)
        kept = max(1, round(keep * grid[0] * grid[1]))
        order = torch.rand(len(self.images), grid[0] * grid[1], generator=random).argsort(dim=1)
        tokens = order[:, :kept].to(self.images.device, non_blocking=True)
        return replace(self, composition=self.composition.restricted(tokens, grid), tokens=tokens)

    def of_patches(self, chosen: Tensor, grid: tuple[int, int]) -> 'Stream':
        """Return the patches of a grid where ``chosen`` (B, number of patches) bool, a tensor on the CPU, is true."""
        (cells,) = chosen.flatten().nonzero(as_tuple=True)
        share = 1 / (len(chosen) * chosen.sum(dim=1).clamp_min(1))
        share = share[cells // chosen.shape[1]]
        cells, share = (values.to(self.images.device, non_blocking=True) for values in (cells, share))
        composition = self.composition.of_cells(cells, grid)
        return replace(self, composition=composition, cells=cells, cell_grid=grid, share=share)
