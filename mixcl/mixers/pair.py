"""The base class of mixers of two images, their plan and their composition."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import torch
from torch import Tensor

from mixcl.composition import Composition
from mixcl.mixers.base import Mixer
from mixcl.mixers.pairings import check_pairs, find_pairing
from mixcl.registry import SHARES

Plan = TypeVar('Plan', bound='Pairs')


@dataclass(frozen=True)
class Pairs:
    """Owners and partners of all R mixtures of a step.

    Attributes:
        owner: (R,) int64, images of the batch that the mixtures belong to.
        partner: (R,) int64, images that are mixed into those.
    """

    owner: Tensor
    partner: Tensor

    def across(self: Plan, num_images: int) -> Plan:
        """Return the plan for two views, one after the other: owners in the first, partners in the second."""
        return replace(self, partner=self.partner + num_images)


@dataclass(frozen=True)
class PairPlan(Pairs):
    """Pairs, and how much of the owner each mixture has.

    Attributes:
        share: (R,) float, the owner's share (lambda) before a box is clipped to the pixels of an image.
    """

    share: Tensor


class PairMixer(Mixer):
    """Mixes images in pairs; subclasses say how, in :meth:`place`.

    The plan draws pairs and shares once a step, so that both views of an image are mixed with the same partner by the
    same amount (SDMP, 2022). Positions of boxes are drawn for every stream and crop.

    Args:
        pairing: 'flip', 'halves', 'derangement', 'permutation' or 'same', see :mod:`mixcl.mixers.pairings`.
        share: config of the distribution of lambda, for example ``dict(type='Uniform', low=0.9)``.
            Default: Beta(1, 1).
        per_sample: whether every mixture has its own share and box; if not, the whole batch has one.

    Raises:
        UserError: for an unknown pairing; from :meth:`check`, for batches of one image.
    """

    mixes_views = True

    def __init__(self, pairing: str = 'flip', share: dict | None = None, per_sample: bool = True) -> None:
        self.pairing = find_pairing(pairing)
        self.share = SHARES.build(dict(type='Beta', alpha=1.0) if share is None else share)
        self.per_sample = per_sample

    def plan(self, num_images: int, generator: torch.Generator | None = None) -> PairPlan:
        owner, partner = self.pairing(num_images, generator)
        share = self.share.sample(self._draws(len(owner)), generator).expand(len(owner))
        return PairPlan(owner, partner, share)

    def check(self, num_images: int, height: int, width: int) -> None:
        check_pairs(type(self).__name__, num_images)

    def positions(self, plan: PairPlan, generator: torch.Generator | None = None) -> Tensor:
        """Draw the positions of boxes: float64 in [0, 1), vertical first, (R, 2), or (1, 2) for one box per batch."""
        # float64: a float32 draw times the height of a large image may round up to the height itself.
        return torch.rand(self._draws(len(plan.owner)), 2, generator=generator, dtype=torch.float64)

    def _draws(self, num_rows: int) -> int:
        return num_rows if self.per_sample else 1


def place_views(
    mixer: Mixer, views: Sequence[Tensor], plan: Any, generator: torch.Generator | None = None
) -> tuple[Tensor, Composition]:
    """Mix the images (B, C, H, W) of one view, or those of two: owners from the first, partners from the second.

    Mixtures of two views count as images, whichever view their pixels are from.
    """
    if len(views) == 1:
        return mixer.place(views[0], plan, generator)
    batch = len(views[0])
    mixed, made = mixer.place(torch.cat(list(views)), plan.across(batch), generator)
    reach = None if made.reach is None else 2 * made.reach  # an image may be owner and partner
    return mixed, replace(made, sources=made.sources % batch, reach=reach)


def pick_pairs(images: Tensor, owner: Tensor, partner: Tensor) -> tuple[Tensor, Tensor]:
    """Return the images of the owners and of the partners, both (R, C, H, W)."""
    owner, partner = (index.to(images.device, non_blocking=True) for index in (owner, partner))
    return images[owner], images[partner]


def pair_composition(
    owner: Tensor, partner: Tensor, share: Tensor, device: torch.device, inside: Tensor | None = None
) -> Composition:
    """Compose pairs: mixture r is image owner[r] with share[r] and partner[r] with the rest (MixCo Eq. 3, SDMP Eq. 3).

    Args:
        owner: (R,) int64.
        partner: (R,) int64.
        share: (R,) float.
        device: device of the composition.
        inside: (R, H, W) bool, the pixels that show the partner, on that device; None if all show both.
    """
    sources = torch.stack([owner, partner], dim=1)
    weights = torch.stack([share, 1 - share], dim=1).float()
    reach = int(sources.flatten().bincount().max()) if len(sources) else 1  # on the CPU: no wait for the GPU
    return Composition(sources.to(device, non_blocking=True), weights.to(device, non_blocking=True), reach, inside)
