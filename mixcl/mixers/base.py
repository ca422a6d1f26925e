"""The interface of mixers: plan once a step, place once per stream and crop."""

from abc import ABC, abstractmethod
from typing import Any

import torch
from torch import Tensor

from mixcl.composition import Composition


class Mixer(ABC):
    """Mixes the images of a batch and says what each mixture counts as.

    A mixer works in two parts, so that the views of a step agree where a paper wants them to. :meth:`plan` decides
    once a step what all its mixtures share: who is mixed with whom, how much, how many images. :meth:`place` makes one
    mixture of one batch by the plan, and decides which patches are taken or where the box lies. It is called for every
    mixed stream and for every crop of it.

    All random numbers come from the CPU generator that is passed; without one, from torch's global CPU generator.
    """

    keeps_place: bool = False
    """Whether every pixel of a mixture comes from the same place of one image, and compositions say from which; terms
    between patches need this."""

    mixes_views: bool = False
    """Whether owners may come from one view and partners from another; plans then have ``across(num_images)``, see
    :class:`~mixcl.mixers.pair.Pairs`."""

    @abstractmethod
    def plan(self, num_images: int, generator: torch.Generator | None = None) -> Any:
        """Draw what all mixtures of this step share, for a batch of ``num_images`` images."""

    @abstractmethod
    def place(self, images: Tensor, plan: Any, generator: torch.Generator | None = None) -> tuple[Tensor, Composition]:
        """Mix ``images`` (B, C, H, W), any float dtype, by the plan.

        Returns:
            The mixed images (R, C, H, W) and their composition, with image ids local to the batch (0 to B - 1). The
            batch size alone decides R, so that all processes have equally many. A composition with ``shown`` lets the
            shares follow the patches that are kept.
        """

    def follow(self, patch_size: int | None) -> None:  # noqa: B027
        """Take settings from the side of the backbone's patches in pixels (None: it has none of one size), where the
        config does not give them. Called once, before any mixing."""

    def check(self, num_images: int, height: int, width: int) -> None:  # noqa: B027
        """Raise :class:`~mixcl.errors.UserError` if a batch of this size cannot be mixed. By default any can."""

    def __call__(self, images: Tensor, generator: torch.Generator | None = None) -> tuple[Tensor, Composition]:
        """Call :meth:`plan`, then :meth:`place`."""
        return self.place(images, self.plan(len(images), generator), generator)
