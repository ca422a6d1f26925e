"""CutMix: a box of one image in the other."""

import torch
from torch import Tensor

from mixcl.composition import Composition
from mixcl.mixers.boxes import box_sides, boxes_around, centres_anywhere, paste
from mixcl.mixers.pair import PairMixer, PairPlan, pair_composition, pick_pairs
from mixcl.registry import MIXERS


@MIXERS.register_module()
class CutMix(PairMixer):
    """The partner's pixels in a box of the owner's image, at the same place (CutMix, 2019, Eq. 1 and 2).

    The box has sides H * sqrt(1 - lambda) and W * sqrt(1 - lambda), rounded down to even numbers. Its centre lies
    anywhere on the image, and it is clipped at the border. The shares are counted in pixels after clipping, so they may
    differ between the two views of a step, whose boxes lie in different places.

    Args:
        pairing: who is mixed with whom, see :class:`~mixcl.mixers.pair.PairMixer`.
        share: config of the distribution of lambda. Default: Beta(1, 1).
        per_sample: whether every mixture has its own lambda and box; if not, the batch has one.
    """

    keeps_place = True

    def place(
        self, images: Tensor, plan: PairPlan, generator: torch.Generator | None = None
    ) -> tuple[Tensor, Composition]:
        size = images.shape[-2:]
        centres = centres_anywhere(self.positions(plan, generator), size)
        boxes = boxes_around(centres, box_sides(plan.share, size), size)
        own, other = pick_pairs(images, plan.owner, plan.partner)
        mixed, inside = paste(own, other, boxes.to(images.device))
        return mixed, pair_composition(plan.owner, plan.partner, boxes.share_outside(size), images.device, inside)
