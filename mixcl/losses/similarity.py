"""Similarities to earlier keys, which a student learns from a teacher."""

from collections.abc import Mapping, Sequence

import torch
from torch import Tensor

from mixcl.composition import SoftTarget
from mixcl.errors import UserError
from mixcl.losses.base import Negatives, Objective
from mixcl.losses.info_nce import normalised
from mixcl.ranges import TEMPERATURE, check_range
from mixcl.registry import LOSSES


@LOSSES.register_module()
class Similarity(Objective):
    """Cross-entropy between how similar a key, and a query, is to the keys in the queue ("SEED", 2021, Eq. 5).

    ``loss_i = - sum_s p_is log softmax_s(cos(query_i, queue_s) / temperature)``, where p_i is the mean, by the target,
    of ``softmax_s(cos(key_t, queue_s) / key_temperature)`` over the keys t. (SEED adds the key to its queue.)

    Args:
        temperature: of the queries.
        key_temperature: of the keys.
    """

    def __init__(self, temperature: float = 0.07, key_temperature: float = 0.07) -> None:
        super().__init__()
        check_range('Similarity', TEMPERATURE, temperature=temperature, key_temperature=key_temperature)
        self.temperature = temperature
        self.key_temperature = key_temperature
        self.earlier: Tensor | None = None

    def prepare_query(self, raw: Tensor) -> Tensor:
        return normalised(raw)

    def prepare_keys(self, raw: Mapping[str, Tensor], earlier: Mapping[str, Tensor]) -> dict[str, Tensor]:
        if len(earlier) != 1:
            raise UserError(
                f'Similarity compares with the keys of one queue, but model.memory has {len(earlier)}: write '
                "model.memory=dict(queue=dict(size=4096, fed_by='view1')), of a key stream"
            )
        (queue,) = earlier.values()
        self.earlier = queue.clone()  # the queue changes before the backward pass
        return super().prepare_keys(raw, earlier)

    def prepare_key(self, raw: Tensor) -> Tensor:
        """Compute (n, S) softmax of the cosines of this process's rows to the queue."""
        return self._cosines(normalised(raw)).div(self.key_temperature).softmax(dim=1)

    def forward(self, queries: Tensor, keys: Tensor, target: SoftTarget, negatives: Sequence[Negatives] = ()) -> Tensor:
        similar = self.log_probabilities(queries)
        with torch.autocast(queries.device.type, enabled=False):
            return -(target.expect(keys) * similar).sum(dim=1)

    def log_probabilities(self, queries: Tensor) -> Tensor:
        """Compute (R, S) log-softmax of the cosines of prepared queries (R, D) to the queue."""
        return self._cosines(queries).div(self.temperature).log_softmax(dim=1)

    def _cosines(self, rows: Tensor) -> Tensor:
        assert self.earlier is not None
        with torch.autocast(rows.device.type, enabled=False):
            return rows @ self.earlier.to(rows.dtype).T
