"""Mixup: weighted sums of two images."""

import torch
from torch import Tensor

from mixcl.composition import Composition
from mixcl.mixers.pair import PairMixer, PairPlan, pair_composition, pick_pairs
from mixcl.registry import MIXERS


@MIXERS.register_module()
class Mixup(PairMixer):
    """lambda * owner + (1 - lambda) * partner ("mixup: Beyond Empirical Risk Minimization", 2018).

    Special cases: MixCo's mixture (``pairing='halves'``, a uniform share), i-mix's (``pairing='permutation'``, a folded
    Beta), and DACL's noise (``pairing='permutation'``, ``share=dict(type='Uniform', low=0.9)``).

    Args:
        pairing: who is mixed with whom, see :class:`~mixcl.mixers.pair.PairMixer`.
        share: config of the distribution of lambda. Default: Beta(1, 1).
        per_sample: whether every mixture has its own lambda; if not, the batch has one.
    """

    def place(
        self, images: Tensor, plan: PairPlan, generator: torch.Generator | None = None
    ) -> tuple[Tensor, Composition]:
        own, other = pick_pairs(images, plan.owner, plan.partner)
        composition = pair_composition(plan.owner, plan.partner, plan.share, images.device)
        own_share, other_share = composition.weights[:, :, None, None, None].unbind(1)
        # The shares promote half-precision images to float32 for the sum.
        mixed = own_share * own + other_share * other
        return mixed.to(images.dtype), composition
