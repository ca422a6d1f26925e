"""The interface of objectives."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from torch import Tensor, nn

from mixcl.distributed import first_row
from mixcl.errors import UserError


class Negatives(NamedTuple):
    """Extra columns that queries are contrasted against.

    Attributes:
        vectors: (S, D), or (R, S, D) where every query row has its own.
        keep: (R, S) bool, which vectors count for which row; None for all.
    """

    vectors: Tensor
    keep: Tensor | None = None


class Objective(nn.Module, ABC):
    """A comparison of query rows with key rows that gives one loss per query row.

    Each stream is prepared once, however many terms use it: :meth:`prepare_query` and :meth:`prepare_key` take the raw
    outputs of the heads. A call then compares two prepared streams. ``options`` lists the keywords that a row of the
    table of terms may override.
    """

    options: tuple[str, ...] = ()
    negatives: Sequence = ()
    """Names or configs of the negatives of all rows that name none of their own."""

    takes_negatives: bool = False
    takes_mixture: bool = False
    """Whether rows may have ``to='mixture'``: ``mixture`` (R, D) of :meth:`forward` is then, for each query, a mixture
    of the keys of the images that its pixels come from."""

    gather: bool = False
    """Whether keys of all processes are prepared together; all processes then need equally many keys."""
    widths: Mapping[str, int] = {}
    """Settings, by name, that must equal the number of output channels of the heads."""

    @abstractmethod
    def prepare_query(self, raw: Tensor) -> Tensor:
        """Turn raw predictions (R, D) into the queries of :meth:`forward`."""

    @abstractmethod
    def prepare_key(self, raw: Tensor) -> Tensor:
        """Turn raw projections (n, D) of this process into the keys (G, D) of :meth:`forward`, gathered or not."""

    def prepare_keys(self, raw: Mapping[str, Tensor], earlier: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """Prepare all key streams of a step, by name.

        Args:
            raw: projections (n, D) of this process.
            earlier: (S, D) normalised keys of earlier steps, for streams that feed a queue.
        """
        return {name: self.prepare_key(rows) for name, rows in raw.items()}

    def key_start(self, num_rows: int) -> int:
        """Return the index among the prepared keys at which this process's ``num_rows`` begin; 0 if not gathered."""
        return first_row(num_rows) if self.gather else 0

    def check_options(self, *args: Any, **kwargs: Any) -> None:
        """Raise :class:`~mixcl.errors.UserError` if the value of an option is out of range."""

    def check_row(self, has_negatives: bool, **options: Any) -> None:
        """Raise :class:`~mixcl.errors.UserError` if a row of the table of terms cannot have these options.

        Args:
            has_negatives: whether the row has negatives.
            **options: options of the row.
        """
        self.check_options(**options)
        if has_negatives and not self.takes_negatives:
            raise UserError(f'{type(self).__name__} takes no negatives; leave them out, or train with InfoNCE')

    def begin_step(self, epoch: int) -> None:
        """Set the epoch of the step, from 0, for objectives with a schedule."""

    def observe(self, raw_keys: dict[str, Tensor]) -> None:
        """Take the raw keys of a step after its losses, for objectives that keep statistics of them."""

    @abstractmethod
    def forward(self, *args: Any, **kwargs: Any) -> Tensor:
        """Compute the losses (R,) of query rows; the caller averages over the rows whose target is valid.

        Args of subclasses:
            queries: (R, D), prepared.
            keys: (G, D), prepared.
            target: a :class:`~mixcl.composition.SoftTarget` of the queries over the keys.
            negatives: a sequence of :class:`Negatives`, empty by default.
            mixture: (R, D), in rows with ``to='mixture'`` alone, of objectives that take one.
            **options: the keywords of ``options``.
        """
