"""Base classes of the measures of frozen features."""

from abc import ABC, abstractmethod

from torch import Tensor

from mixcl.evaluation.functional.feature_checks import check_settings


class FeatureMetric(ABC):
    """A measure of the features of one data set (the queries), given those of another (the bank).

    Used in ``test_evaluator`` or ``val_evaluator`` of a :class:`~mixcl.evaluation.feature_loop.FeatureLoop`, which
    collects the features of all processes and lets the main process compute.
    """

    @abstractmethod
    def compute(self, bank: Tensor, bank_labels: Tensor, queries: Tensor, labels: Tensor) -> dict[str, float]:
        """Compute the measures.

        Args:
            bank: (Nb, D) float32 in data set order, usually of the training images; on the CPU.
            bank_labels: (Nb,) int64 classes, or (Nb, C) int8 presence (1 present, 0 difficult only, -1 absent); on the
                CPU.
            queries: (Nq, D) float32 in data set order, on the device of the model.
            labels: of the queries, in the format of ``bank_labels``.

        Returns:
            values by name; shares in percent.
        """


class CheckedMetric(FeatureMetric):
    """A measure that refuses settings out of range when it is built, before anything is encoded."""

    def __post_init__(self) -> None:
        check_settings(type(self).__name__, vars(self))
