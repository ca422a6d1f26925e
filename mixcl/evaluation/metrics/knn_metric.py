"""kNN accuracy of frozen features."""

from collections.abc import Sequence
from dataclasses import dataclass

from torch import Tensor

from mixcl.errors import UserError
from mixcl.evaluation.functional.knn import NEIGHBOURS, TEMPERATURE, knn_accuracy
from mixcl.evaluation.metrics.feature_metric import FeatureMetric
from mixcl.registry import METRICS


@METRICS.register_module()
@dataclass
class KNNAccuracy(FeatureMetric):
    """Top-1 and top-5 accuracy of weighted nearest neighbours, in percent, under ``knn{k}_top1`` and ``knn{k}_top5``.

    Args:
        neighbours: values of k, each 1 or more; one larger than the bank uses the whole bank.
        temperature: of the vote, above 0.

    Raises:
        UserError: if ``neighbours`` or ``temperature`` mean nothing.
    """

    neighbours: Sequence[int] = NEIGHBOURS
    temperature: float = TEMPERATURE

    def __post_init__(self) -> None:
        if not self.neighbours or min(self.neighbours) < 1 or not self.temperature > 0:
            raise UserError(
                'KNNAccuracy: neighbours must be one or more integers from 1 and temperature above 0, not '
                f'{self.neighbours!r} and {self.temperature!r}'
            )

    def compute(self, bank: Tensor, bank_labels: Tensor, queries: Tensor, labels: Tensor) -> dict[str, float]:
        return knn_accuracy(queries, labels, bank, bank_labels, self.neighbours, self.temperature)
