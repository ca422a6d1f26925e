"""Mixup: weighted sums of two images."""

import torch
from torch import Tensor

from mixcl.composition import Composition
from mixcl.mixers.pair import PairMixer, PairPlan, pair_composition, pick_pairs
from mixcl.registry import MIXERS


@MIXERS.register_module()
class Mixup(PairMixer):
    """lambda * owner + (1 - lambda) * partner ("mixup: Beyond Empirical Risk Minimization", 2018).

    With ``pairing='halves'`` and a uniform share it is MixCo's mixture, with ``pairing='permutation'`` and a folded
    Beta i-mix's, with ``share=dict(type='Uniform', low=0.9)`` and ``pairing='permutation'`` DACL's noise.

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
        # Half-precision images are summed in float32, to which the shares promote them.
        mixed = own_share * own + other_share * other
        return mixed.to(images.dtype), composition
