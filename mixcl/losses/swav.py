"""The objective of SwAV."""

from collections.abc import Mapping, Sequence

import torch
from torch import Tensor, nn
from torch.nn import functional

from mixcl.composition import SoftTarget
from mixcl.distributed import first_row, gather_rows, local_part
from mixcl.losses.base import Negatives, Objective
from mixcl.losses.info_nce import normalised
from mixcl.ranges import COUNT, NOT_NEGATIVE, SEVERAL, TEMPERATURE, check_range
from mixcl.registry import LOSSES


@LOSSES.register_module()
class SwAV(Objective):
    """Swapped prediction of cluster assignments ("Unsupervised Learning of Visual Features by Contrasting Cluster
    Assignments", 2020, Eq. 1 to 5).

    ``loss_i = H(sum_t Y[i, t] Q_t, P_i)`` with ``P_i = softmax(c . z_i / temperature)`` over the prototypes c. The
    codes Q are the keys: they assign the global batch to the prototypes in equal parts, see :func:`sinkhorn`, and
    carry no gradient. Projections z and prototypes have length 1. A queue of ``model.memory`` that a key stream feeds
    joins the assignment of that stream.

    Args:
        channels: D, width of the projections.
        num_prototypes: K, 2 or more.
        temperature: temperature of the predictions, .0001 to 1000.
        epsilon: regularisation of the codes, .0001 to 1000. The smaller, the sharper they are.
        iterations: iterations of the assignment, 1 or more.
        queue_from: epoch, from 0, in which the queues join. They fill from the first step on.
    """

    gather = True

    def __init__(
        self,
        channels: int,
        num_prototypes: int = 3000,
        temperature: float = 0.1,
        epsilon: float = 0.05,
        iterations: int = 3,
        queue_from: int = 15,
    ) -> None:
        super().__init__()
        check_range('SwAV', COUNT, channels=channels, iterations=iterations)
        check_range('SwAV', SEVERAL, num_prototypes=num_prototypes)
        check_range('SwAV', TEMPERATURE, temperature=temperature, epsilon=epsilon)
        check_range('SwAV', NOT_NEGATIVE, queue_from=queue_from)
        self.widths = dict(channels=channels)
        self.temperature = temperature
        self.epsilon = epsilon
        self.iterations = iterations
        self.queue_from = queue_from
        self.prototypes = nn.Linear(channels, num_prototypes, bias=False)
        self.begin_step(0)

    def key_start(self, num_rows: int) -> int:
        return 0

    @torch.no_grad()
    def begin_step(self, epoch: int) -> None:
        """Set the epoch, and restore the length 1 of the prototypes, which optimiser steps change."""
        self.epoch = epoch
        weight = local_part(self.prototypes.weight)
        weight.copy_(functional.normalize(weight, dim=1))

    def prepare_query(self, raw: Tensor) -> Tensor:
        """Compute (R, K) log-probabilities of the prototypes (SwAV Eq. 2)."""
        with torch.autocast(raw.device.type, enabled=False):
            return (self.prototypes(normalised(raw)) / self.temperature).log_softmax(dim=1)

    def prepare_keys(self, raw: Mapping[str, Tensor], earlier: Mapping[str, Tensor]) -> dict[str, Tensor]:
        queues = earlier if self.epoch >= self.queue_from else {}
        return {name: self.prepare_key(rows, queues.get(name)) for name, rows in raw.items()}

    @torch.no_grad()
    def prepare_key(self, raw: Tensor, earlier: Tensor | None = None) -> Tensor:
        """Compute (n, K) codes of this process's rows, assigned with those of all processes and ``earlier`` keys."""
        with torch.autocast(raw.device.type, enabled=False):
            keys = gather_rows(normalised(raw))
            every = keys if earlier is None else torch.cat([keys, earlier])
            codes = sinkhorn(self.prototypes(every), self.epsilon, self.iterations)
        return codes[first_row(len(raw)) :][: len(raw)]

    def forward(self, queries: Tensor, keys: Tensor, target: SoftTarget, negatives: Sequence[Negatives] = ()) -> Tensor:
        """Compute (R,) cross-entropies (SwAV Eq. 2)."""
        with torch.autocast(queries.device.type, enabled=False):
            return -(target.expect(keys) * queries).sum(dim=1)


def sinkhorn(scores: Tensor, epsilon: float, iterations: int) -> Tensor:
    """Assign rows to columns so that all columns get about as much (SwAV Eq. 3 to 5; Cuturi, 2013).

    ``exp(scores / epsilon)`` is scaled in turn to columns of equal sum and to rows of sum 1, in log space.

    Args:
        scores: (G, K).
        epsilon: above 0; if it is large, every row is spread evenly.
        iterations: how often both are scaled, 1 or more.

    Returns:
        (G, K), rows of sum 1.
    """
    log_codes = scores / epsilon
    for _ in range(iterations):
        log_codes = log_codes.log_softmax(dim=0)
        log_codes = log_codes.log_softmax(dim=1)
    return log_codes.exp()
