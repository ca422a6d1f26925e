"""The objective of Barlow Twins, and its form for mixtures."""

from collections.abc import Sequence

import torch
from torch import Tensor

from mixcl.composition import SoftTarget
from mixcl.distributed import sum_over_processes
from mixcl.losses.base import Negatives, Objective
from mixcl.ranges import NOT_NEGATIVE, check_range
from mixcl.registry import LOSSES

EPSILON = 1e-5
"""Added to variances, as by batch normalisation, which the authors' code uses."""


@LOSSES.register_module()
class CrossCorrelation(Objective):
    """Agreement of twins without redundancy ("Barlow Twins: Self-Supervised Learning via Redundancy Reduction", 2021,
    Eq. 1 and 2), and of mixtures ("Guarding Barlow Twins Against Overfitting with Mixed Samples", 2023).

    ``loss = sum_d (1 - C_dd)^2 + off_diagonal * sum_(d != e) C_de^2`` with ``C = Q' K / G``, over the G rows of all
    processes. Each channel of Q and K has mean 0 and variance 1 over these rows; row i of K is what the target names
    for query i. In rows with ``to='mixture'`` it is ``sum_de (Q' K / G - M' K / G)_de^2``, where K are the keys of the
    owners, and M mixes the keys of the images that a mixture is made of.

    The loss is one number for the batch, which every query gets. Gradients flow through both sides, so the target
    encoder is ``Shared``; keys of another have none.

    Args:
        off_diagonal: lambda, weight of the off-diagonal, at least 0. Barlow Twins .0051; on CIFAR 1/128.
    """

    takes_mixture = True
    gather = True  # the statistics are those of all processes

    def __init__(self, off_diagonal: float = 0.0051) -> None:
        super().__init__()
        check_range('CrossCorrelation', NOT_NEGATIVE, off_diagonal=off_diagonal)
        self.off_diagonal = off_diagonal

    def key_start(self, num_rows: int) -> int:
        return 0

    def prepare_query(self, raw: Tensor) -> Tensor:
        return standardised(raw)

    def prepare_key(self, raw: Tensor) -> Tensor:
        """Standardise this process's rows (n, D) by the statistics of all."""
        return standardised(raw)

    def forward(
        self,
        queries: Tensor,
        keys: Tensor,
        target: SoftTarget,
        negatives: Sequence[Negatives] = (),
        mixture: Tensor | None = None,
    ) -> Tensor:
        with torch.autocast(queries.device.type, enabled=False):
            count = sum_over_processes(target.valid.sum().to(queries.dtype)).clamp_min(1)
            rows = queries if mixture is None else queries - mixture
            correlation = sum_over_processes(rows.T @ target.expect(keys)) / count
            loss = self.of_twins(correlation) if mixture is None else correlation.square().sum()
        return loss.expand(len(queries))

    def of_twins(self, correlation: Tensor) -> Tensor:
        """Compute the loss of a cross-correlation matrix (D, D) (Barlow Twins Eq. 1)."""
        diagonal = correlation.diagonal()
        redundant = correlation.square().sum() - diagonal.square().sum()
        return (1 - diagonal).square().sum() + self.off_diagonal * redundant


def standardised(rows: Tensor) -> Tensor:
    """Give each channel of rows (R, D) mean 0 and variance 1 over the rows of all processes, in float32 at least."""
    with torch.autocast(rows.device.type, enabled=False):
        rows = rows if rows.dtype == torch.float64 else rows.float()
        count = sum_over_processes(rows.new_full((), len(rows)))
        centred = rows - sum_over_processes(rows.sum(dim=0)) / count
        variance = sum_over_processes(centred.square().sum(dim=0)) / count
        return centred * (variance + EPSILON).rsqrt()
