"""Sources of extra negatives."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional

from mixcl.composition import Composition, SoftTarget
from mixcl.errors import UserError
from mixcl.losses.base import Negatives
from mixcl.ranges import COUNT, check_range
from mixcl.registry import NEGATIVES


class Keys(NamedTuple):
    """The prepared keys of a stream.

    Attributes:
        vectors: (G, D), of this process or of all.
        composition: what this process's keys count as.
        start: index of this process's first key.
    """

    vectors: Tensor
    composition: Composition
    start: int


@dataclass(frozen=True)
class NegativesContext:
    """Inputs of a source of negatives for one row of the table of terms.

    Attributes:
        queries: (R, D) normalised queries.
        composition: composition of the query rows.
        keys: (G, D) prepared keys of the row.
        target: target of the row.
        streams: the keys of all key streams, by name.
        generator: generator for sources that draw.
    """

    queries: Tensor
    composition: Composition
    keys: Tensor
    target: SoftTarget
    streams: dict[str, Keys]
    generator: torch.Generator


class NegativesSource(ABC):
    """A source of the negatives of one row of the table of terms."""

    streams: tuple[str, ...] = ()
    """Key streams that the source needs."""

    @abstractmethod
    def __call__(self, context: NegativesContext) -> Negatives: ...


class Rows(NegativesSource):
    """The rows of a key stream, except those owned by an image of the query row.

    NT-Xent leaves out the anchor itself, BSIM the mixtures owned by one of the two sources.
    """

    def __init__(self, stream: str) -> None:
        self.streams = (stream,)

    def __call__(self, context: NegativesContext) -> Negatives:
        (name,) = self.streams
        vectors, composition, start = context.streams[name]
        keep = torch.ones(len(context.queries), len(vectors), dtype=torch.bool, device=vectors.device)
        # Rows of other processes share no image with ours.
        keep[:, start : start + len(composition)] = ~context.composition.lists(composition.owner)
        return Negatives(vectors, keep)


class Queue(nn.Module, NegativesSource):
    """The keys of earlier steps ("Momentum Contrast", 2020, Sec. 3.2), first in, first out; shared by all rows.

    Args:
        size: number of keys, at least one global batch.
        channels: D, width of the keys.
        fed_by: key stream that fills it.
    """

    vectors: Tensor
    position: Tensor

    def __init__(self, size: int, channels: int, fed_by: str) -> None:
        super().__init__()
        check_range(f'the queue of {fed_by}', COUNT, size=size, channels=channels)
        self.size = size
        self.channels = channels
        self.fed_by = fed_by
        self.register_buffer('vectors', functional.normalize(torch.randn(size, channels), dim=1))
        self.register_buffer('position', torch.zeros((), dtype=torch.int64))

    def __call__(self, context: NegativesContext) -> Negatives:
        return Negatives(self.vectors.clone())  # a copy, since the queue changes before the backward pass

    def check(self, num_keys: int) -> None:
        """Raise :class:`~mixcl.errors.UserError` if ``num_keys`` keys of a step, of all processes, do not fit."""
        if num_keys > self.size:
            raise UserError(
                f'the queue of {self.fed_by} holds size={self.size} keys, fewer than the {num_keys} keys of one step; '
                'raise its size in model.memory, or lower batch'
            )

    @torch.no_grad()
    def push(self, keys: Tensor) -> None:
        """Replace the oldest keys with the gathered, normalised keys (n, D) of a step; n is at most :attr:`size`."""
        places = (self.position + torch.arange(len(keys), device=keys.device)) % self.size
        self.vectors[places] = keys.to(self.vectors.dtype)
        self.position.copy_((self.position + len(keys)) % self.size)


@NEGATIVES.register_module()
class HardMix(NegativesSource):
    """Hard negatives mixed in embedding space ("Hard Negative Mixing for Contrastive Learning", MoCHi, 2020).

    For every query, ``mixed`` points combine two of its ``hardest`` negatives, and ``mixed_with_query`` points combine
    one of them with the query, whose share is below 1/2. All are normalised convex combinations without gradient.
    The pool is the batch's keys without the row's positives; a row whose pool is empty gets none.

    Args:
        hardest: the paper's N; at most the size of the row's pool is used.
        mixed: the paper's s.
        mixed_with_query: the paper's s'.
    """

    def __init__(self, hardest: int = 1024, mixed: int = 1024, mixed_with_query: int = 128) -> None:
        if min(hardest, mixed + mixed_with_query) < 1 or min(mixed, mixed_with_query) < 0:
            raise UserError(
                f'HardMix: hardest={hardest}, mixed={mixed}, mixed_with_query={mixed_with_query} leave nothing to mix'
            )
        self.hardest, self.mixed, self.mixed_with_query = hardest, mixed, mixed_with_query

    @torch.no_grad()
    def __call__(self, context: NegativesContext) -> Negatives:
        queries, keys = context.queries.detach(), context.keys.detach()
        support = context.target.support(len(keys))
        similarities = (queries @ keys.T).masked_fill(support, -torch.inf)
        hard = similarities.topk(min(self.hardest, len(keys)), dim=1).indices  # (R, N), the row's pool first
        pool = (~support).sum(dim=1, keepdim=True).clamp_max(hard.shape[1])  # (R, 1)

        def drawn(count: int) -> Tensor:
            """Draw (R, count, D) keys of the row's pool."""
            places = (self._uniform(len(queries), count, context) * pool).long()
            return keys[hard.gather(1, places)]

        share = self._uniform(len(queries), self.mixed, context)[:, :, None]
        pairs = share * drawn(self.mixed) + (1 - share) * drawn(self.mixed)
        share = self._uniform(len(queries), self.mixed_with_query, context)[:, :, None] / 2
        with_query = share * queries[:, None] + (1 - share) * drawn(self.mixed_with_query)
        points = functional.normalize(torch.cat([pairs, with_query], dim=1), dim=2)
        return Negatives(points, (pool > 0).expand(-1, points.shape[1]))

    @staticmethod
    def _uniform(rows: int, count: int, context: NegativesContext) -> Tensor:
        return torch.rand(rows, count, generator=context.generator).to(context.queries, non_blocking=True)
