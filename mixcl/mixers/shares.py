"""Distributions of lambda, the owner's share of a mixture."""

import numpy as np
import torch
from torch import Tensor

from mixcl.errors import UserError
from mixcl.ranges import POSITIVE, SHARE, check_range
from mixcl.registry import SHARES


@SHARES.register_module()
class Beta:
    """Lambda from Beta(alpha, alpha); alpha = 1 is uniform between 0 and 1 (Mixup, 2018, Sec. 2).

    Args:
        alpha: above 0. Small values mix little (lambda near 0 or 1), large values mix evenly.
        folded: take max(lambda, 1 - lambda), so that the owner has the larger share (i-mix, 2021).

    Raises:
        UserError: if alpha is not above 0.
    """

    def __init__(self, alpha: float = 1.0, folded: bool = False) -> None:
        check_range('share Beta', POSITIVE, alpha=alpha)
        self.alpha = alpha
        self.folded = folded

    def sample(self, n: int, generator: torch.Generator | None = None) -> Tensor:
        """Draw (n,) float32 values on the CPU."""
        # torch's Beta takes no generator; numpy's is seeded by a draw from the given one.
        seed = int(torch.randint(2**63 - 1, (), generator=generator))
        drawn = np.random.default_rng(seed).beta(self.alpha, self.alpha, n)
        share = torch.from_numpy(drawn).float()
        return torch.maximum(share, 1 - share) if self.folded else share


@SHARES.register_module()
class Uniform:
    """Lambda uniform between two values (MixCo: 0 and 1; DACL: 0.9 and 1).

    Args:
        low: smallest value, at least 0.
        high: largest value, at most 1.

    Raises:
        UserError: unless 0 <= low <= high <= 1.
    """

    def __init__(self, low: float = 0.0, high: float = 1.0) -> None:
        if not SHARE.holds(low) or not SHARE.holds(high) or low > high:
            raise UserError(f'share Uniform: low={low!r} and high={high!r} must satisfy 0 <= low <= high <= 1')
        self.low = low
        self.high = high

    def sample(self, n: int, generator: torch.Generator | None = None) -> Tensor:
        """Draw (n,) float32 values on the CPU."""
        return self.low + (self.high - self.low) * torch.rand(n, generator=generator)
