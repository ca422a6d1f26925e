"""Accuracy of frozen features where few images of each class are labelled."""

from collections.abc import Sequence
from dataclasses import dataclass

from torch import Tensor

from mixcl.errors import UserError
from mixcl.evaluation.functional.few_labels import DRAWS, SHOTS, few_label_accuracies
from mixcl.evaluation.metrics.feature_metric import FeatureMetric
from mixcl.registry import METRICS


@METRICS.register_module()
@dataclass
class FewLabels(FeatureMetric):
    """kNN and logistic regression on k labels per class, over draws of labels that all checkpoints share.

    Values and protocol: :func:`~mixcl.evaluation.functional.few_labels.few_label_accuracies`.

    Args:
        shots: values of k, each 1 or more; no class may have fewer training images.
        draws: how many, 1 or more.
        seed: of the draws.

    Raises:
        UserError: if ``shots`` or ``draws`` are out of range.
    """

    shots: Sequence[int] = SHOTS
    draws: int = DRAWS
    seed: int = 0

    def __post_init__(self) -> None:
        if not self.shots or min(self.shots) < 1 or self.draws < 1:
            raise UserError(
                'FewLabels: shots must be one or more integers from 1 and draws 1 or more, not '
                f'{self.shots!r} and {self.draws!r}'
            )

    def compute(self, bank: Tensor, bank_labels: Tensor, queries: Tensor, labels: Tensor) -> dict[str, float]:
        return few_label_accuracies(bank, bank_labels, queries, labels, self.shots, self.draws, self.seed)
