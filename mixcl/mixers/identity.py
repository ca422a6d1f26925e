"""The mixer that leaves everything as it is."""

import torch
from torch import Tensor

from mixcl.composition import Composition
from mixcl.mixers.base import Mixer
from mixcl.registry import MIXERS


@MIXERS.register_module()
class Identity(Mixer):
    """No mixing: each row is its own image. Turns a mixed stream into a plain view, for baselines and ablations."""

    def plan(self, num_images: int, generator: torch.Generator | None = None) -> None:
        return None

    def place(
        self, images: Tensor, plan: None = None, generator: torch.Generator | None = None
    ) -> tuple[Tensor, Composition]:
        return images, Composition.identity(len(images), device=images.device)
