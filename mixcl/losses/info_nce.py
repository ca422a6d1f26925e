"""Soft-target InfoNCE over the keys of all processes."""

import torch
from torch import Tensor
from torch.nn import functional

from mixcl.composition import SoftTarget
from mixcl.distributed import first_row, gather_keys
from mixcl.errors import UserError
from mixcl.losses.base import Objective
from mixcl.registry import LOSSES


@LOSSES.register_module()
class InfoNCE(Objective):
    """Cross-entropy between a soft target and the softmax over all keys (MoCo v3; PatchMix Eq. 10 to 16).

    ``loss_i = - sum_t Y[i, t] log softmax_t(cos(query_i, key_t) / temperature)``

    Keys are L2-normalised and gathered over processes without gradient. Similarities and softmax are computed in
    float32 (float64 for float64 inputs), with autocast off.

    Args:
        temperature: divides the cosine similarities; above 0.
        smoothing: share of the target that is spread evenly over all G keys, Y <- (1 - e) Y + e / G; in [0, 1).
        temperature_scale: multiplies the loss by ``temperature_scale * temperature``. MoCo v3 uses 2, PatchMix has
            no such factor (None).

    Row options: ``temperature`` and ``smoothing``.
    """

    options = ('temperature', 'smoothing')

    def __init__(
        self, temperature: float = 0.2, smoothing: float = 0.0, temperature_scale: float | None = None
    ) -> None:
        super().__init__()
        self.temperature = temperature
        self.smoothing = smoothing
        self.temperature_scale = temperature_scale
        self.check_options(temperature=temperature, smoothing=smoothing)

    def check_options(self, temperature: float | None = None, smoothing: float | None = None) -> None:
        """Raise UserError for a temperature or smoothing out of range, from the config or from a row of terms."""
        if temperature is not None and not temperature > 0:
            raise UserError(f'InfoNCE: temperature must be above 0, not {temperature!r}')
        if smoothing is not None and not 0 <= smoothing < 1:
            raise UserError(f'InfoNCE: smoothing must lie in [0, 1), not {smoothing!r}')

    def prepare_query(self, raw: Tensor) -> Tensor:
        return _normalised(raw)

    def prepare_key(self, raw: Tensor) -> Tensor:
        return gather_keys(_normalised(raw.detach()))

    def key_start(self, num_rows: int) -> int:
        return first_row(num_rows)

    def forward(
        self,
        queries: Tensor,
        keys: Tensor,
        target: SoftTarget,
        temperature: float | None = None,
        smoothing: float | None = None,
    ) -> Tensor:
        temperature = self.temperature if temperature is None else temperature
        smoothing = self.smoothing if smoothing is None else smoothing
        loss = info_nce(queries, keys, target, temperature, smoothing)
        return loss if self.temperature_scale is None else loss * (self.temperature_scale * temperature)


def info_nce(queries: Tensor, keys: Tensor, target: SoftTarget, temperature: float, smoothing: float = 0.0) -> Tensor:
    """(R,) soft-target cross-entropy of normalised queries (R, D) over normalised keys (G, D)."""
    with torch.autocast(queries.device.type, enabled=False):
        logits = queries @ keys.T / temperature  # (R, G)
        log_normaliser = logits.logsumexp(dim=1)
        loss = log_normaliser - target.pick(logits)  # the target's rows sum to 1
        if smoothing:
            uniform = log_normaliser - logits.mean(dim=1)
            loss = (1 - smoothing) * loss + smoothing * uniform
        return loss


def _normalised(vectors: Tensor) -> Tensor:
    with torch.autocast(vectors.device.type, enabled=False):
        vectors = vectors if vectors.dtype == torch.float64 else vectors.float()
        return functional.normalize(vectors, dim=1)
