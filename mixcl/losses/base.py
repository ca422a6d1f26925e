"""The interface of objectives."""

from abc import ABC, abstractmethod

from torch import Tensor, nn

from mixcl.composition import SoftTarget


class Objective(nn.Module, ABC):
    """Compares query rows with key rows and gives one loss per query row.

    Each stream is prepared once, whatever the number of terms that use it: :meth:`prepare_query` and
    :meth:`prepare_key` take the raw outputs of the heads. Calls then compare two prepared streams. A subclass lists
    in ``options`` the keywords that a row of the table of terms may override.
    """

    options: tuple[str, ...] = ()

    @abstractmethod
    def prepare_query(self, raw: Tensor) -> Tensor:
        """(R, D) raw predictions to what :meth:`forward` takes as queries."""

    @abstractmethod
    def prepare_key(self, raw: Tensor) -> Tensor:
        """(n, D) raw projections of this process to what :meth:`forward` takes as keys (G, D), gathered or not."""

    @abstractmethod
    def key_start(self, num_rows: int) -> int:
        """Where this process's ``num_rows`` keys start among the prepared ones."""

    def check_options(self, **options: float) -> None:
        """Raise :class:`~mixcl.errors.UserError` if the value of an option is out of range."""

    @abstractmethod
    def forward(self, queries: Tensor, keys: Tensor, target: SoftTarget, **options: float) -> Tensor:
        """(R,) the loss of every row; the caller averages over the rows whose target is valid."""
