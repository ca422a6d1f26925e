"""Soft-target InfoNCE over keys and extra negatives."""

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

from mixcl.composition import SoftTarget
from mixcl.distributed import gather_rows
from mixcl.errors import UserError
from mixcl.losses.base import Negatives, Objective
from mixcl.ranges import BELOW_ONE, POSITIVE, TEMPERATURE, check_range
from mixcl.registry import LOSSES


def _normaliser_batch(logits: Tensor, extra: list[Tensor], target: SoftTarget) -> Tensor:
    """Normalise over all keys and all negatives (MoCo v3, PatchMix, MixCo, i-mix, SimCLR)."""
    every = torch.cat([logits, *extra], dim=1) if extra else logits
    return every.logsumexp(dim=1, keepdim=True)


def _normaliser_positives(logits: Tensor, extra: list[Tensor], target: SoftTarget) -> Tensor:
    """Normalise over the row's own positives, together, and the negatives (BSIM's joint reading)."""
    positives = logits.masked_fill(~target.support(logits.shape[1]), -torch.inf)
    return torch.cat([positives, *extra], dim=1).logsumexp(dim=1, keepdim=True)


def _normaliser_itself(logits: Tensor, extra: list[Tensor], target: SoftTarget) -> Tensor:
    """Normalise over each positive alone and the negatives (MoCo, BSIM, Un-Mix): one cross-entropy per positive."""
    return torch.logaddexp(logits, torch.cat(extra, dim=1).logsumexp(dim=1, keepdim=True))


NORMALISERS: dict[str, Callable[[Tensor, list[Tensor], SoftTarget], Tensor]] = dict(
    batch=_normaliser_batch, positives=_normaliser_positives, itself=_normaliser_itself
)
"""Log-normalisers, (R, 1) or (R, G), by the value of ``among``: what a positive is contrasted against."""


@LOSSES.register_module()
class InfoNCE(Objective):
    """Cross-entropy between a soft target and a softmax (MoCo v1 to v3; PatchMix Eq. 10 to 16; SimCLR; BSIM; MixCo).

    ``loss_i = - sum_t Y[i, t] (s_it - log D_i)`` with ``s_it = cos(query_i, key_t) / temperature`` and D the sum of
    the exponentials of what ``among`` and ``negatives`` name. Similarities and softmax are computed in float32
    (float64 for float64 inputs), with autocast off.

    Args:
        temperature: divides the cosine similarities; above 0.
        smoothing: share of the target that is spread evenly over all G keys, Y <- (1 - e) Y + e / G; in [0, 1).
        temperature_scale: multiplies the loss by ``temperature_scale * temperature``. MoCo v3 uses 2; PatchMix has
            no such factor (None).
        among: what a positive is contrasted against besides the negatives: 'batch' all keys, 'positives' the row's
            positives together, 'itself' no other key.
        gather: whether the keys are those of all processes or of this one alone.
        negatives: a list of extra columns: names of streams, 'own' for the query's own stream, names of queues, or
            configs such as ``dict(type='HardMix')``.

    Rows of the table of terms may set their own ``temperature``, ``smoothing``, ``among`` and ``negatives``.
    """

    options = ('temperature', 'smoothing', 'among')
    takes_negatives = True

    def __init__(
        self,
        temperature: float = 0.2,
        smoothing: float = 0.0,
        temperature_scale: float | None = None,
        among: str = 'batch',
        gather: bool = True,
        negatives: Sequence[str | dict] = (),
    ) -> None:
        super().__init__()
        self.check_options(temperature, smoothing, among)
        check_range('InfoNCE', POSITIVE, temperature_scale=1.0 if temperature_scale is None else temperature_scale)
        self.temperature = temperature
        self.smoothing = smoothing
        self.temperature_scale = temperature_scale
        self.among = among
        self.gather = gather
        self.negatives = tuple(negatives)

    def check_options(self, temperature: float = 1.0, smoothing: float = 0.0, among: str = 'batch') -> None:
        check_range('InfoNCE', TEMPERATURE, temperature=temperature)
        check_range('InfoNCE', BELOW_ONE, smoothing=smoothing)
        if among not in NORMALISERS:
            raise UserError(f'InfoNCE: among must be one of {", ".join(NORMALISERS)}, not {among!r}')

    def check_row(self, has_negatives: bool, **options: Any) -> None:
        super().check_row(has_negatives, **options)
        among = options.get('among', self.among)
        if among != 'batch' and not has_negatives:
            raise UserError(
                f'InfoNCE: among={among!r} needs negatives such as a queue to contrast positives with; name '
                "some as negatives=, or set among='batch'"
            )

    def prepare_query(self, raw: Tensor) -> Tensor:
        return normalised(raw)

    def prepare_key(self, raw: Tensor) -> Tensor:
        keys = normalised(raw)
        return gather_rows(keys) if self.gather else keys

    def forward(
        self,
        queries: Tensor,
        keys: Tensor,
        target: SoftTarget,
        negatives: Sequence[Negatives] = (),
        temperature: float | None = None,
        smoothing: float | None = None,
        among: str | None = None,
    ) -> Tensor:
        temperature = self.temperature if temperature is None else temperature
        smoothing = self.smoothing if smoothing is None else smoothing
        among = self.among if among is None else among
        with torch.autocast(queries.device.type, enabled=False):
            loss = self.row_losses(
                log_probabilities(queries, keys, target, negatives, temperature, among), target, smoothing
            )
        return loss if self.temperature_scale is None else loss * (self.temperature_scale * temperature)

    def row_losses(self, log_probabilities: Tensor, target: SoftTarget, smoothing: float) -> Tensor:
        """Compute (R,) ``- sum_t Y[i, t] log p[i, t]`` with label smoothing (PatchMix Eq. 10 to 16), from (R, G)."""
        loss = -target.pick(log_probabilities)
        if smoothing:
            loss = (1 - smoothing) * loss - smoothing * log_probabilities.mean(dim=1)
        return loss


@LOSSES.register_module()
class LogMixture(InfoNCE):
    """``- log sum_t Y[i, t] softmax_t``, the loss in the newest version of SDMP's released code.

    The paper's loss is InfoNCE, which mixes the logarithms instead. Same arguments as :class:`InfoNCE`; ``smoothing``
    must be 0.
    """

    def check_options(self, temperature: float = 1.0, smoothing: float = 0.0, among: str = 'batch') -> None:
        super().check_options(temperature, smoothing, among)
        if smoothing:
            raise UserError(f'LogMixture has no label smoothing, but smoothing={smoothing!r}; leave it out')

    def row_losses(self, log_probabilities: Tensor, target: SoftTarget, smoothing: float) -> Tensor:
        """Compute (R,) ``- log sum_t Y[i, t] p[i, t]`` from (R, G)."""
        return -target.log_expect(log_probabilities)


def log_probabilities(
    queries: Tensor,
    keys: Tensor,
    target: SoftTarget,
    negatives: Sequence[Negatives],
    temperature: float,
    among: str,
) -> Tensor:
    """Compute (R, G) ``s_it - log D_i`` of normalised queries (R, D) and keys (G, D), see :class:`InfoNCE`."""
    logits = queries @ keys.T / temperature  # (R, G)
    extra = [_negative_logits(queries, *part, temperature) for part in negatives]
    return logits - NORMALISERS[among](logits, extra, target)


def _negative_logits(queries: Tensor, vectors: Tensor, keep: Tensor | None, temperature: float) -> Tensor:
    similarities = queries @ vectors.T if vectors.dim() == 2 else (vectors @ queries[:, :, None]).squeeze(2)
    logits = similarities / temperature
    return logits if keep is None else logits.masked_fill(~keep, -torch.inf)


def normalised(vectors: Tensor) -> Tensor:
    """Scale rows (R, D) to length 1, in float32 at least."""
    with torch.autocast(vectors.device.type, enabled=False):
        vectors = vectors if vectors.dtype == torch.float64 else vectors.float()
        return functional.normalize(vectors, dim=1)
