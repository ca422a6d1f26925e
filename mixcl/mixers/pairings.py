"""Pairings: the owner and the partner of every mixture of two.

A pairing is a function ``(n, generator) -> (owner, partner)`` of the number of images in a batch, registered by its
name in ``PAIRINGS``. Both results are (R,) int64 on the CPU; the batch size alone decides R.
"""

from collections.abc import Callable

import torch
from torch import Tensor

from mixcl.errors import UserError
from mixcl.registry import PAIRINGS

Pairing = Callable[[int, torch.Generator | None], tuple[Tensor, Tensor]]


def find_pairing(name: str) -> Pairing:
    """Return the pairing with this name.

    Raises:
        UserError: if there is none; the message lists the existing pairings.
    """
    known = sorted(PAIRINGS.module_dict)
    if name not in known:
        raise UserError(f'pairing={name!r} is unknown; choose one of {", ".join(known)}')
    return PAIRINGS.module_dict[name]


def check_pairs(mixer: str, num_images: int) -> None:
    """Raise :class:`~mixcl.errors.UserError` if there are too few images for a pair."""
    if num_images < 2:
        raise UserError(
            f'{mixer}: images are mixed in pairs, but one process sees batches of {num_images} image; raise '
            'batch (or at_once)'
        )


@PAIRINGS.register_module()
def flip(n: int, generator: torch.Generator | None = None) -> tuple[Tensor, Tensor]:
    """Pair image i with image n - 1 - i (SDMP, Un-Mix, RegionCL), the middle of an odd batch with itself."""
    owner = torch.arange(n)
    return owner, owner.flip(0)


@PAIRINGS.register_module()
def halves(n: int, generator: torch.Generator | None = None) -> tuple[Tensor, Tensor]:
    """Pair image i of the first half with image i of the second (MixCo): n // 2 mixtures.

    The last image of an odd batch is in no mixture.
    """
    owner = torch.arange(n // 2)
    return owner, owner + n // 2


@PAIRINGS.register_module()
def derangement(n: int, generator: torch.Generator | None = None) -> tuple[Tensor, Tensor]:
    """Draw a partner, never the image itself (BSIM): images form a random circle, each mixed with the next."""
    circle = torch.randperm(n, generator=generator)
    partner = torch.empty_like(circle)
    partner[circle] = circle.roll(-1)
    return torch.arange(n), partner


@PAIRINGS.register_module()
def permutation(n: int, generator: torch.Generator | None = None) -> tuple[Tensor, Tensor]:
    """Draw a random permutation (i-mix); an image may be its own partner."""
    return torch.arange(n), torch.randperm(n, generator=generator)


@PAIRINGS.register_module()
def same(n: int, generator: torch.Generator | None = None) -> tuple[Tensor, Tensor]:
    """Pair every image with itself, for mixtures of two views of an image (ScaleMix)."""
    return torch.arange(n), torch.arange(n)
