"""Choice: one of several mixers, drawn anew at every step."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor

from mixcl.composition import Composition
from mixcl.errors import UserError
from mixcl.mixers.base import Mixer
from mixcl.ranges import SHARE
from mixcl.registry import MIXERS


@dataclass(frozen=True)
class ChoicePlan:
    """The mixer of this step, and its plan."""

    mixer: Mixer
    plan: Any

    def across(self, num_images: int) -> 'ChoicePlan':
        """Return the plan for two views, see :class:`~mixcl.mixers.pair.Pairs`."""
        return replace(self, plan=self.plan.across(num_images))


@MIXERS.register_module()
class Choice(Mixer):
    """Draws one of several mixers per step and process, for all views together (SDMP, 2022; Un-Mix, 2022).

    Args:
        mixers: configs of the mixers, for example ``[dict(type='Mixup'), dict(type='CutMix')]``; may hold a Choice.
        probabilities: one per mixer, in the same order; sum 1. Default: all equal.

    Raises:
        UserError: if there is no mixer, or the probabilities do not fit; from :meth:`check`, what a mixer raises.
    """

    def __init__(self, mixers: Sequence[dict], probabilities: Sequence[float] | None = None) -> None:
        if not isinstance(mixers, Sequence) or not mixers:
            raise UserError(f"Choice: mixers must list at least one mixer such as dict(type='Mixup'), not {mixers!r}")
        self.mixers: list[Mixer] = [MIXERS.build(mixer) for mixer in mixers]
        if probabilities is None:
            probabilities = [1 / len(mixers)] * len(mixers)
        _check_probabilities(probabilities, len(mixers))
        self.probabilities = torch.tensor(probabilities, dtype=torch.float64)
        self.keeps_place = all(mixer.keeps_place for mixer in self.mixers)
        self.mixes_views = all(mixer.mixes_views for mixer in self.mixers)

    def plan(self, num_images: int, generator: torch.Generator | None = None) -> ChoicePlan:
        mixer = self.mixers[int(torch.multinomial(self.probabilities, 1, generator=generator))]
        return ChoicePlan(mixer, mixer.plan(num_images, generator))

    def place(
        self, images: Tensor, plan: ChoicePlan, generator: torch.Generator | None = None
    ) -> tuple[Tensor, Composition]:
        return plan.mixer.place(images, plan.plan, generator)

    def follow(self, patch_size: int | None) -> None:
        for mixer in self.mixers:
            mixer.follow(patch_size)

    def check(self, num_images: int, height: int, width: int) -> None:
        for mixer in self.mixers:
            mixer.check(num_images, height, width)


def _check_probabilities(probabilities: Sequence[float], count: int) -> None:
    fits = (
        isinstance(probabilities, Sequence)
        and len(probabilities) == count
        and all(map(SHARE.holds, probabilities))
        and math.isclose(sum(probabilities), 1, abs_tol=1e-6)
    )
    if not fits:
        raise UserError(
            f'Choice: probabilities must be {count} numbers of at least 0, one per mixer, that sum to 1, not '
            f'{probabilities!r}'
        )
