"""Compositions: which images of the batch the rows of a stream count as, and how much of each.

Every method in mixcl pulls a query towards each key in proportion to how much of their source images the two share.
A :class:`Composition` says what a stream of rows is made of; :meth:`Composition.target` turns two of them into the
soft target between a query stream and a key stream. Sharing means shared instance content, not shared pixels: two
crops of one image count as the same.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor
from torch.nn import functional

from mixcl.errors import UserError

ABSENT = -1
"""Source id of an entry that was merged into another one: it never matches anything."""


@dataclass(frozen=True)
class Composition:
    """The sources of R rows, at most K images each.

    Attributes:
        sources: (R, K) int64, ids of images in the global batch (``rank * batch size + i``). Column 0 is the row's
            owner. An image that is listed belongs to the row, whatever its share.
        weights: (R, K) float, shares; every row sums to 1. An image listed twice counts once with the summed share.
        reach: largest number of rows in which one image may occur. ``None`` lets :meth:`target` count it, which costs
            a synchronisation with the GPU; the mixers of mixcl know the number and set it.
        shown: (R, h, w) integers or bool: which of the K listed images each cell of a grid over the row's image shows.
            The cells may be pixels or patches. ``None`` if every part of the image shows all K images (Mixup).
    """

    sources: Tensor
    weights: Tensor
    reach: int | None = None
    shown: Tensor | None = None

    def __post_init__(self) -> None:
        if self.sources.ndim != 2 or self.sources.shape != self.weights.shape:
            raise ValueError(
                'a composition needs sources and weights of one shape (rows, images per row), not '
                f'{tuple(self.sources.shape)} and {tuple(self.weights.shape)}'
            )
        if self.sources.dtype != torch.int64 or not self.weights.is_floating_point():
            raise ValueError(
                'a composition needs int64 sources and floating-point weights, not '
                f'{self.sources.dtype} and {self.weights.dtype}'
            )

    def __len__(self) -> int:
        return len(self.sources)

    @classmethod
    def identity(cls, n: int, start: int = 0, device: torch.device | str | None = None) -> 'Composition':
        """Return the composition of n plain views: row i is image ``start + i`` with share 1."""
        sources = torch.arange(start, start + n, device=device)[:, None]
        return cls(sources, torch.ones(n, 1, device=device), reach=1)

    @classmethod
    def cat(cls, parts: Sequence['Composition']) -> 'Composition':
        """Stack streams row-wise, for example the local crops of a batch. All parts list the same number of images."""
        if len(parts) == 1:
            return parts[0]
        reaches = [part.reach for part in parts if part.reach is not None]
        shown = [part.shown for part in parts if part.shown is not None]
        return cls(
            torch.cat([part.sources for part in parts]),
            torch.cat([part.weights for part in parts]),
            sum(reaches) if len(reaches) == len(parts) else None,
            torch.cat(shown) if len(shown) == len(parts) else None,
        )

    @property
    def owner(self) -> Tensor:
        """Image that each row belongs to, (R,)."""
        return self.sources[:, 0]

    def lists(self, images: Tensor) -> Tensor:
        """Return (R, n) bool: whether each row lists each of the images (n,), whatever its share."""
        return (self.sources[:, :, None] == images).any(dim=1)

    def owned(self) -> 'Composition':
        """Return the rows, each counted as its owner alone (DACL; SDMP's fixed mixture target)."""
        return Composition(self.sources[:, :1], torch.ones_like(self.weights[:, :1]), self.reach)

    def even(self) -> 'Composition':
        """Return the rows, each counted as all images that it lists, in equal shares (SDMP's fixed lambda)."""
        return Composition(self.sources, torch.full_like(self.weights, 1 / self.weights.shape[1]), self.reach)

    def shifted(self, start: int) -> 'Composition':
        """Return the same rows with ``start`` added to every image id, which turns local ids into global ones."""
        return replace(self, sources=self.sources + start)

    def restricted(self, patches: Tensor, grid: tuple[int, int]) -> 'Composition':
        """Return what the rows count as if only some patches (R, n) of a grid over their images are seen.

        The share of a listed image becomes the share of these patches that shows it; with a share of 0 the image stays
        listed. If every part of a row's image shows all listed images, nothing changes.
        """
        if self.shown is None:
            return self
        share = self._shown_in_cells(grid)
        return replace(self, weights=share.take_along_dim(patches[:, None], dim=2).mean(dim=2), shown=None)

    def of_cells(self, cells: Tensor, grid: tuple[int, int]) -> 'Composition':
        """Return what cells of a grid over the rows' images count as: the same cells of the images that they show.

        The id of a cell is ``image * number of cells + cell``, so that cells at other places never match. A cell that
        shows several images has a share of each.

        Args:
            cells: (Q,) int64, ``row * number of cells + cell``.
            grid: (h, w).

        Raises:
            UserError: if it is not known which of several images a cell shows.
        """
        count = grid[0] * grid[1]
        row, cell = cells // count, cells % count
        sources = self.sources[row] * count + cell[:, None]
        if self.shown is None and self.sources.shape[1] > 1:
            raise UserError('what a patch of a mixture shows is not known; its mixer must give its Composition shown=')
        if self.shown is None:
            return Composition(sources, self.weights[row], self.reach)
        return Composition(sources, self._shown_in_cells(grid)[row, :, cell], self.reach)

    def _shown_in_cells(self, grid: tuple[int, int]) -> Tensor:
        """Return (R, K, cells): the share of every cell of a grid that shows each listed image."""
        assert self.shown is not None
        shows = torch.stack([self.shown == k for k in range(self.weights.shape[1])], dim=1).to(self.weights.dtype)
        # Cut both into cells so small that each lies within one cell of either grid.
        fine = [math.lcm(*sides) for sides in zip(self.shown.shape[1:], grid, strict=True)]
        return functional.adaptive_avg_pool2d(functional.interpolate(shows, fine), grid).flatten(2)

    def merged(self) -> 'Composition':
        """List each image of a row once, with its summed share; freed entries get source ``ABSENT`` and share 0."""
        if self.sources.shape[1] == 1:
            return self
        same = self.sources[:, :, None] == self.sources[:, None, :]  # (R, K, K)
        total = (same * self.weights[:, None, :]).sum(dim=2)
        first = ~same.tril(diagonal=-1).any(dim=2)
        return Composition(
            torch.where(first, self.sources, ABSENT), torch.where(first, total, torch.zeros_like(total)), self.reach
        )

    def overlap(self, other: 'Composition') -> Tensor:
        """Compute how much the rows share, dense and un-normalised.

        ``overlap[i, j] = sum over images s of min(own share of s in row i, other's share of s in row j)``

        Returns:
            (len(self), len(other)) float. For inspection and tests; training uses :meth:`target`.
        """
        a, b = self.merged(), other.merged()
        hit = _same_source(a.sources[:, :, None, None], b.sources[None, None])  # (Ra, Ka, Rb, Kb)
        share = torch.minimum(a.weights[:, :, None, None], b.weights[None, None])
        return (hit * share).sum(dim=(1, 3))

    def target(self, keys: 'Composition', start: int = 0) -> 'SoftTarget':
        """Return the soft target of these query rows over the rows of ``keys``: their overlap, each row normalised.

        Without a special case, this is the one-hot target of instance discrimination (view to view), the mixing
        weights (mixture to view; PatchMix Eq. 10, MixCo Eq. 3, SDMP Eq. 3, BSIM Eq. 1) and the mixture-to-mixture
        targets (PatchMix Eq. 11; SDMP Eq. 4, where both views have the same shares).

        Args:
            keys: composition of this process's key rows.
            start: column of the first key row among the gathered keys (``rank * len(keys)``).

        Returns:
            A :class:`SoftTarget` whose rows sum to 1, except rows that share nothing with any key (not ``valid``).
        """
        a, b = self.merged(), keys.merged()
        ids, order = b.sources.flatten().sort(stable=True)
        entries = order[_consecutive(torch.searchsorted(ids, a.sources.contiguous()), b._counted_reach(), len(ids))]
        entry_rows = entries // b.sources.shape[1]  # (Ra, Ka, reach)
        hit = _same_source(a.sources[:, :, None], b.sources.flatten()[entries])
        share = torch.minimum(a.weights[:, :, None], b.weights.flatten()[entries])
        # Where the search ran past the end, the clamped position repeats an entry: count each entry once.
        repeated = torch.zeros_like(hit)
        repeated[:, :, 1:] = entries[:, :, 1:] == entries[:, :, :-1]
        hit = hit & ~repeated
        weights = torch.where(hit, share, torch.zeros_like(share)).flatten(1)
        total = weights.sum(dim=1, keepdim=True)
        weights = torch.where(total > 0, weights / total.clamp_min(torch.finfo(weights.dtype).tiny), weights)
        return SoftTarget(entry_rows.flatten(1), weights, hit.flatten(1), start)

    def _counted_reach(self) -> int:
        if self.reach is not None:
            return self.reach
        listed = self.sources[self.sources != ABSENT]
        return int(listed.unique(return_counts=True)[1].max()) if listed.numel() else 1


def _same_source(a: Tensor, b: Tensor) -> Tensor:
    return (a == b) & (a != ABSENT)


def _consecutive(first: Tensor, count: int, size: int) -> Tensor:
    """Return (..., count): the positions first, first + 1, ..., clamped to the last one."""
    return (first[..., None] + torch.arange(count, device=first.device)).clamp_max(max(size - 1, 0))


@dataclass(frozen=True)
class SoftTarget:
    """A sparse target of R query rows over key rows, P entries each.

    Attributes:
        columns: (R, P) int64, rows of this process's key stream; entries of a repeated column add up.
        weights: (R, P) float; rows sum to 1, or to 0 where a row shares nothing with any key.
        hit: (R, P) bool, entries that name a shared image (its share may be 0).
        start: column of this process's first key among the gathered keys.
    """

    columns: Tensor
    weights: Tensor
    hit: Tensor
    start: int = 0

    @property
    def valid(self) -> Tensor:
        """Rows that share something with some key, (R,) bool. The others take no part in a loss."""
        return self.weights.sum(dim=1) > 0

    def mean(self, values: Tensor) -> Tensor:
        """Return the mean of (R,) values over the valid rows; 0 if there are none."""
        valid = self.valid
        return torch.where(valid, values, torch.zeros_like(values)).sum() / valid.sum().clamp_min(1)

    def dense(self, num_keys: int) -> Tensor:
        """Return the target as a matrix over the gathered keys, (R, num_keys) float."""
        table = self.weights.new_zeros(len(self.weights), num_keys)
        return table.scatter_add(1, self._gathered_columns(), self.weights * self.hit)

    def pick(self, table: Tensor) -> Tensor:
        """Return (R,): the weighted sum of the entries of ``table`` (R, gathered keys) that the target names.

        Entries are selected, not multiplied by a dense target, so a masked -inf elsewhere never makes 0 * -inf.
        """
        chosen = table.gather(1, self._gathered_columns())
        return torch.where(self.hit, chosen * self.weights.to(chosen.dtype), torch.zeros_like(chosen)).sum(dim=1)

    def log_expect(self, log_table: Tensor) -> Tensor:
        """Return (R,): the log of the weighted sum of the exponentials of the entries that the target names."""
        chosen = log_table.gather(1, self._gathered_columns()) + self.weights.log().to(log_table.dtype)
        # An entry with share 0 would put a NaN into the gradient of a row that has no shares at all.
        return torch.where(self.hit & (self.weights > 0), chosen, -torch.inf).logsumexp(dim=1)

    def expect(self, keys: Tensor) -> Tensor:
        """Return (R, D): the mean of this process's key rows (n, D), weighted by the target."""
        weights = (self.weights * self.hit).to(keys.dtype)
        return functional.embedding_bag(self.columns, keys, per_sample_weights=weights, mode='sum')

    def support(self, num_keys: int) -> Tensor:
        """Return (R, num_keys) bool: the gathered keys that share an image with the row, whatever the share."""
        counts = torch.zeros(len(self.weights), num_keys, device=self.weights.device)
        return counts.scatter_add(1, self._gathered_columns(), self.hit.to(counts.dtype)) > 0

    def _gathered_columns(self) -> Tensor:
        return self.columns + self.start
