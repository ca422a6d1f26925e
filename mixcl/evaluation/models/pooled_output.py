"""What a classifier takes from any backbone: one vector per image."""

from torch import Tensor, nn

from mixcl.heads.mlp import pooled
from mixcl.registry import MODELS


@MODELS.register_module()
class PooledOutput(nn.Module):
    """A neck between any backbone and a linear head: averages maps over space and passes vectors on.

    (mmpretrain's ``GlobalAveragePooling`` refuses vectors.)

    Input: a tuple of (B, C) or (B, C, H, W). Output: a tuple of (B, C).
    """

    def forward(self, outputs: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        return tuple(pooled(output) for output in outputs)
