"""kNN accuracy of frozen features."""

from collections.abc import Sequence
from dataclasses import dataclass

from torch import Tensor

from mixcl.evaluation.functional.knn import NEIGHBOURS, TEMPERATURE, check_vote, knn_accuracy
from mixcl.evaluation.metrics.feature_metric import FeatureMetric
from mixcl.registry import METRICS


@METRICS.register_module()
@dataclass
class KNNAccuracy(FeatureMetric):
    """Top-1 and top-5 accuracy of weighted nearest neighbours, in percent, under ``knn{k}_top1`` and ``knn{k}_top5``.

    Args:
        neighbours: values of k; one larger than the bank uses the whole bank.
        temperature: of the vote, above 0.

    Raises:
        UserError: if ``neighbours`` or ``temperature`` mean nothing.
    """

    neighbours: Sequence[int] = NEIGHBOURS
    temperature: float = TEMPERATURE

    def __post_init__(self) -> None:
        check_vote(self.neighbours, self.temperature)

    def compute(
        self, bank: Tensor, bank_labels: Tensor | None, queries: Tensor, labels: Tensor | None
    ) -> dict[str, float]:
        bank_labels, labels = self.needed(bank_labels, labels)
        return knn_accuracy(queries, labels, bank, bank_labels, self.neighbours, self.temperature)
