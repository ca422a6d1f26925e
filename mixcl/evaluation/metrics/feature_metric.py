"""What every measure of frozen features has in common."""

from abc import ABC, abstractmethod

from torch import Tensor

from mixcl.errors import UserError


class FeatureMetric(ABC):
    """A measure of the features of one data set (the queries), given those of another (the bank).

    Stands in ``test_evaluator`` or ``val_evaluator`` of a :class:`~mixcl.evaluation.feature_loop.FeatureLoop`, which
    collects the features of all processes and lets the main process compute.
    """

    @abstractmethod
    def compute(
        self, bank: Tensor, bank_labels: Tensor | None, queries: Tensor, labels: Tensor | None
    ) -> dict[str, float]:
        """Measure.

        Args:
            bank: (Nb, D) float32 in data set order, usually of the training images; on the CPU.
            bank_labels: (Nb,) int64 classes, or (Nb, C) int8 presence (1 present, 0 difficult only, -1 absent), or
                None where the loop reads no labels; on the CPU.
            queries: (Nq, D) float32 in data set order, on the device of the model.
            labels: of the queries, as those of the bank.

        Returns:
            values by name; shares in percent.
        """

    def needed(self, bank_labels: Tensor | None, labels: Tensor | None) -> tuple[Tensor, Tensor]:
        """The labels of bank and queries.

        Raises:
            UserError: where the loop reads none.
        """
        if bank_labels is None or labels is None:
            raise UserError(
                f"{type(self).__name__} needs labels: set labels='class' (SVMs: 'multiple') in the FeatureLoop of "
                'val_cfg or test_cfg'
            )
        return bank_labels, labels

    def check_labels(self, bank_labels: Tensor, labels: Tensor) -> None:  # noqa: B027 (most refuse nothing)
        """Refuse labels that :meth:`compute` would refuse, before any image is encoded.

        Called where the data sets know the labels of all their images.

        Args:
            bank_labels: see :meth:`compute`.
            labels: see :meth:`compute`.
        """
