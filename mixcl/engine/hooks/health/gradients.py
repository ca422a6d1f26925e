"""The length of a gradient, without waiting for the device."""

import torch
from torch import Tensor

from mixcl.distributed import whole


def total_norm(gradients: list[Tensor]) -> Tensor:
    """The Euclidean norm of all gradients together: a float32 scalar on their device, not finite if an entry is not."""
    if not gradients:
        return torch.zeros(())
    return whole(torch.linalg.vector_norm(torch.stack([norm.float() for norm in torch._foreach_norm(gradients)])))
