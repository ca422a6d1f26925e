"""Asymmetric patch sampling: two views of an image keep patches that share few pixels (APS, 2023)."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import torch

from mixcl.datasets.transforms.crops import RecordedResizedCrop
from mixcl.datasets.transforms.views import KeyedMultiView
from mixcl.errors import UserError
from mixcl.randomness import seed_global_generators
from mixcl.registry import TRANSFORMS


class ViewGeometry(NamedTuple):
    """Part of the original image that a view shows, in its pixels, and whether mirrored left to right."""

    top: float
    left: float
    height: float
    width: float
    flipped: bool = False


def overlap_ratios(selected: np.ndarray, view1: ViewGeometry, view2: ViewGeometry, grid: tuple[int, int]) -> np.ndarray:
    """Compute the share of each cell of view 2 that view 1's selected patches cover (APS Eq. 3, summed over patches).

    Args:
        selected: (..., n) int, distinct patch indices of view 1, row by row from the top left of what the view shows.
        view1, view2: the parts that the views show.
        grid: (rows, columns) of patches, in both views.

    Returns:
        (..., rows * columns) float64 in [0, 1], in the order of view 2's patches.
    """
    kept = np.zeros((*selected.shape[:-1], grid[0] * grid[1]))
    np.put_along_axis(kept, selected, 1.0, axis=-1)
    # Cells are products of two intervals, and so are their overlaps.
    down = _interval_cover(view1.top, view1.height, view2.top, view2.height, grid[0])
    across = _interval_cover(view1.left, view1.width, view2.left, view2.width, grid[1])
    across = across[:: -1 if view1.flipped else 1, :: -1 if view2.flipped else 1]
    ratios = down.T @ kept.reshape(*selected.shape[:-1], *grid) @ across
    return ratios.reshape(kept.shape).clip(0.0, 1.0)


def _interval_cover(start1: float, length1: float, start2: float, length2: float, count: int) -> np.ndarray:
    """Compute the share (count, count) of interval j of the second view that interval i of the first covers."""
    first = start1 + length1 / count * np.arange(count + 1)
    second = start2 + length2 / count * np.arange(count + 1)
    end = np.minimum(first[1:, None], second[None, 1:])
    begin = np.maximum(first[:-1, None], second[None, :-1])
    return (end - begin).clip(min=0.0) / (length2 / count)


def selection_probabilities(ratios: np.ndarray, power: float) -> np.ndarray:
    """Compute the normalised probabilities ``(1 - r)^power`` with which view 2 draws its first cell.

    Args:
        ratios: (..., cells) in [0, 1], from :func:`overlap_ratios`.
        power: 0 draws uniformly; the larger, the less overlap.

    Returns:
        (..., cells) that sum to 1; 0 where a cell is covered up to 1e-6, unless ``power`` is 0. All 0 if every
        cell is covered.
    """
    free = 1.0 - ratios
    weights = np.where(free < 1e-6, 0.0, free) ** power
    total = weights.sum(axis=-1, keepdims=True)
    return np.divide(weights, total, out=np.zeros_like(weights), where=total > 0)


def draw_cells(probabilities: np.ndarray, count: int) -> np.ndarray:
    """Draw cells one after the other without replacement, from the global numpy generator.

    The cells have exponential clocks, whose order of arrival is that of successive draws (Efraimidis and Spirakis,
    2006).

    Args:
        probabilities: (..., cells); cells of 0 are drawn last.
        count: number of draws, at most ``cells``.

    Returns:
        (..., count) int64 cell indices, in the order of the draws.
    """
    # The small number keeps cells of probability 0 in the race, for when no others are left.
    arrival = np.random.exponential(size=probabilities.shape) / (probabilities + 1e-12)
    return arrival.argsort(axis=-1)[..., :count].astype(np.int64)


@TRANSFORMS.register_module()
class SampledPatchPair(KeyedMultiView):
    """Two views of an image, and which patches of each to keep (APS, "Asymmetric Patch Sampling for Contrastive
    Learning", 2023).

    View 1's patches are shuffled and cut into chunks. For each chunk, view 2 draws as many patches without
    replacement with probability ``(1 - r)^power``, r being the share of the patch that the chunk covers. If too few
    patches are free, covered ones follow. Each chunk is a training step of its own: see ``ChunkedPretrainLoop``.

    Each view's pipeline starts with a ``RecordedResizedCrop``; it may flip left to right afterwards. Pack the result
    with ``dict(type='mmpretrain.PackInputs', algorithm_keys=['tokens', 'patch_grid'])``.

    Args:
        transforms: the two pipelines.
        patch_size: side of the backbone's patches in pixels.
        ratio: share of the patches to keep, in (0, 1]; of 14x14 patches, 0.25 keeps 49.
        power: how strongly overlap is avoided, at least 0; 0 is uniform.
        chunks: number of disjoint chunks of view 1; at most floor(1 / ratio), which is the default (None).
        flip_aware: measure the overlap of the pixels shown. False reproduces the authors' code, which takes the columns
            of a flipped view for those of the crop.

    Raises:
        UserError: for values out of range.
    """

    def __init__(
        self,
        transforms: list,
        patch_size: int,
        ratio: float = 0.25,
        power: float = 3.0,
        chunks: int | None = None,
        flip_aware: bool = True,
    ) -> None:
        super().__init__(transforms, num_views=[1] * len(transforms))
        first = [type(view.transforms[0]) if view.transforms else None for view in self.transforms]
        if first != [RecordedResizedCrop] * 2:
            raise UserError(
                f'SampledPatchPair: transforms must be two pipelines that start with RecordedResizedCrop, not {first}; '
                'crop first, then flip'
            )
        if not (0 < ratio <= 1 and power >= 0):
            raise UserError(f'SampledPatchPair: ratio={ratio!r} must lie in (0, 1] and power={power!r} not be negative')
        most = _floor(1 / ratio)
        if chunks is not None and not 1 <= chunks <= most:
            raise UserError(
                f'SampledPatchPair: chunks must lie between 1 and {most}, as many as ratio={ratio!r} allows, not '
                f'{chunks!r}'
            )
        self.patch_size = patch_size
        self.ratio = ratio
        self.power = power
        self.chunks = chunks or most
        self.flip_aware = flip_aware

    def combined(self, results: dict, views: Sequence[dict]) -> dict:
        """Replace ``img`` by the list of two views; add the patches to keep.

        These are ``tokens``, an int64 tensor (2 views, chunks, patches kept), and ``patch_grid``, (rows, columns).
        """
        view1, view2 = views
        grid = self._grid(view1, view2)
        cells = grid[0] * grid[1]
        count = _floor(cells * self.ratio)
        if count == 0:
            raise UserError(f'SampledPatchPair: ratio={self.ratio!r} of {cells} patches keeps none; raise ratio')
        if results.get('sample_key') is not None:
            seed_global_generators(*results['sample_key'], 'patches')
        first = np.random.permutation(cells)[: self.chunks * count].reshape(self.chunks, count)
        ratios = overlap_ratios(first, self._geometry(view1), self._geometry(view2), grid)
        second = draw_cells(selection_probabilities(ratios, self.power), count)
        tokens = torch.from_numpy(np.stack([first, second]))
        return {**results, 'img': [view1['img'], view2['img']], 'tokens': tokens, 'patch_grid': grid}

    def _grid(self, *views: dict) -> tuple[int, int]:
        shapes = {view['img'].shape[:2] for view in views}
        height, width = shapes.pop()
        if shapes or height % self.patch_size or width % self.patch_size:
            raise UserError(
                f'SampledPatchPair: patch_size={self.patch_size} must divide both sides of the crop, the same in both '
                f'views, not {" and ".join(str(view["img"].shape[:2]) for view in views)}; make them agree'
            )
        return height // self.patch_size, width // self.patch_size

    def _geometry(self, view: dict) -> ViewGeometry:
        if view.get('flip_direction') not in (None, 'horizontal'):
            raise UserError(
                f'SampledPatchPair: views may be flipped left to right only, not {view["flip_direction"]!r}'
            )
        top, left, height, width = view['crop_box']
        return ViewGeometry(top, left, height, width, flipped=self.flip_aware and view.get('flip', False))


def _floor(value: float) -> int:
    return int(value + 1e-9)  # 0.29 * 100 is 28.999999999999996
