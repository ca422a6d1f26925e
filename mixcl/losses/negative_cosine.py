"""The objective of BYOL and SimSiam."""

from collections.abc import Sequence

import torch
from torch import Tensor

from mixcl.composition import SoftTarget
from mixcl.losses.base import Negatives, Objective
from mixcl.losses.info_nce import normalised
from mixcl.ranges import POSITIVE, check_range
from mixcl.registry import LOSSES


@LOSSES.register_module()
class NegativeCosine(Objective):
    """``loss_i = - scale * sum_t Y[i, t] cos(query_i, key_t)`` (BYOL; SimSiam; BSIM Eq. 4), without negatives.

    Args:
        scale: 2 for BYOL, whose loss is 2 - 2 cos (the constant has no effect); 1 for SimSiam.
    """

    def __init__(self, scale: float = 1.0) -> None:
        super().__init__()
        check_range('NegativeCosine', POSITIVE, scale=scale)
        self.scale = scale

    def prepare_query(self, raw: Tensor) -> Tensor:
        return normalised(raw)

    def prepare_key(self, raw: Tensor) -> Tensor:
        return normalised(raw)

    def forward(self, queries: Tensor, keys: Tensor, target: SoftTarget, negatives: Sequence[Negatives] = ()) -> Tensor:
        with torch.autocast(queries.device.type, enabled=False):
            return -self.scale * (queries * target.expect(keys)).sum(dim=1)
