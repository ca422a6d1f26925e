"""PatchMix: every mixture consists of patches of M images of the batch."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from mixcl.composition import Composition
from mixcl.errors import UserError
from mixcl.mixers.base import Mixer
from mixcl.ranges import COUNT, SHARE, check_range
from mixcl.registry import MIXERS


@dataclass(frozen=True)
class PatchMixPlan:
    """Number of images per mixture of this step; 1 leaves the images unmixed."""

    num_mix: int


@MIXERS.register_module()
class PatchMix(Mixer):
    """Inter-instance patch mixing ("Inter-Instance Similarity Modeling for Contrastive Learning", 2023, Sec. 3.2).

    A random permutation splits the positions of the patch grid into M groups of equal size, the same groups for all
    images of a batch. Group m of mixture i comes from image (i + m) mod B. Positions that are left over when M does not
    divide the number of patches stay with image i; every share is 1/M all the same. (If only some patches are kept,
    shares are counted over these.)

    Args:
        num_mix: M, the number of images per mixture, at least 1. The paper's Table 6 finds 3 best, the authors'
            configs use 2. From a sequence one number is drawn per step and process, for all views.
        patch_size: side of a patch in pixels; by default that of the backbone, or 16 outside of a learner.
        probability: probability that a process mixes at all in a step; all views share the decision.

    Raises:
        UserError: from :meth:`follow`, if neither the config nor the backbone has a patch size; from :meth:`check` and
            :meth:`place`, if the image size is not a multiple of the patch size, or if
            M exceeds the number of patches; from :meth:`check`, if M exceeds the batch of one process.
    """

    keeps_place = True

    def __init__(
        self, num_mix: int | Sequence[int] = 3, patch_size: int | None = None, probability: float = 1.0
    ) -> None:
        self.num_mix = tuple(num_mix) if isinstance(num_mix, Sequence) else (num_mix,)
        if not self.num_mix or not all(map(COUNT.holds, self.num_mix)):
            raise UserError(f'PatchMix: num_mix must be a positive integer or several of them, not {num_mix!r}')
        self.patch_size, self.follows = (16, True) if patch_size is None else (patch_size, False)
        check_range('PatchMix', COUNT, patch_size=self.patch_size)
        check_range('PatchMix', SHARE, probability=probability)
        self.probability = probability

    def follow(self, patch_size: int | None) -> None:
        if not self.follows:
            return
        if patch_size is None:
            raise UserError(
                'PatchMix: patch_size is missing, and model.backbone has no patches of one size to take it from; write '
                'model.mixer.patch_size, for example 16'
            )
        self.patch_size = patch_size

    def plan(self, num_images: int, generator: torch.Generator | None = None) -> PatchMixPlan:
        apply, choice = torch.rand(2, generator=generator).tolist()
        num_mix = self.num_mix[int(choice * len(self.num_mix))]
        return PatchMixPlan(num_mix if apply < self.probability else 1)

    def place(
        self, images: Tensor, plan: PatchMixPlan, generator: torch.Generator | None = None
    ) -> tuple[Tensor, Composition]:
        height, width = images.shape[-2:]
        rows, columns = self._grid(height, width, plan.num_mix)
        permutation = torch.randperm(rows * columns, generator=generator)
        groups = patch_groups(permutation, plan.num_mix).view(rows, columns).to(images.device, non_blocking=True)
        mixed = mix_patches(images, groups, self.patch_size)
        composition = patchmix_composition(len(images), plan.num_mix, images.device)
        return mixed, replace(composition, shown=groups.expand(len(images), rows, columns))

    def check(self, num_images: int, height: int, width: int) -> None:
        self._grid(height, width, max(self.num_mix))
        if max(self.num_mix) > num_images:
            raise UserError(
                f'PatchMix: num_mix={max(self.num_mix)} images cannot be mixed from the {num_images} images that one '
                f'process sees; raise batch (or at_once), or lower num_mix'
            )

    def _grid(self, height: int, width: int, num_mix: int) -> tuple[int, int]:
        size = self.patch_size
        if height % size or width % size:
            raise UserError(
                f'PatchMix: images of {height}x{width} pixels cannot be cut into patches of {size}x{size}; choose an '
                f'image size that is a multiple of patch_size={size}'
            )
        rows, columns = height // size, width // size
        if num_mix > rows * columns:
            raise UserError(
                f'PatchMix: num_mix={num_mix} images do not fit into the {rows}x{columns} patches of {height}x{width} '
                f'images; lower num_mix or patch_size={size}'
            )
        return rows, columns


def patch_groups(permutation: Tensor, num_mix: int) -> Tensor:
    """Compute the group (T,) of every patch position, 0 to M - 1 (PatchMix Eq. 7 to 9).

    Position t has rank r = argsort(permutation)[t] and belongs to group r // (T // M); left-over positions to group 0.
    """
    size = len(permutation) // num_mix
    rank = permutation.argsort()
    return torch.where(rank < num_mix * size, rank // size, 0)


def mix_patches(images: Tensor, groups: Tensor, patch_size: int) -> Tensor:
    """Take each patch of mixture i from image (i + group of the patch) mod B, at the same position.

    Args:
        images: (B, C, H, W).
        groups: (H / patch size, W / patch size) int64.

    Returns:
        (B, C, H, W), same dtype.
    """
    batch, channels, height, _ = images.shape
    rows, columns = groups.shape
    # One copy, line by line of every patch, writes the mixtures in the order of their pixels.
    lines = torch.arange(channels * height * columns, dtype=torch.int32, device=images.device)
    image = (torch.arange(batch, device=images.device)[:, None, None] + groups) % batch  # (B, rows, columns)
    first = (image.int() * len(lines))[:, None, :, None]
    source = first + lines.view(channels, rows, patch_size, columns)
    return images.reshape(-1, patch_size).index_select(0, source.flatten()).view(images.shape)


def patchmix_composition(batch: int, num_mix: int, device: torch.device | None = None) -> Composition:
    """Compose mixtures: mixture i counts as images i, i + 1, ..., i + M - 1 (mod B), 1/M each (PatchMix Eq. 10)."""
    offsets = torch.arange(num_mix, device=device)
    sources = (torch.arange(batch, device=device)[:, None] + offsets) % batch
    return Composition(sources, torch.full(sources.shape, 1 / num_mix, device=device), reach=num_mix)
