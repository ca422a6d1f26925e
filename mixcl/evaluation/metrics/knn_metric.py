"""kNN accuracy as a metric of mmengine's evaluator."""

from collections.abc import Sequence

from torch import Tensor

from mixcl.evaluation.functional.knn import NEIGHBOURS, TEMPERATURE, check_vote, knn_accuracy
from mixcl.evaluation.metrics.feature_metric import FeatureMetric
from mixcl.registry import METRICS


@METRICS.register_module()
class KNNAccuracy(FeatureMetric):
    """Top-1 and top-5 accuracy of weighted nearest neighbours, in percent, under ``knn{k}_top1`` and ``knn{k}_top5``.

    Args:
        neighbours: values of k; one larger than the bank uses the whole bank.
        temperature: of the vote, above 0.
        collect_device: see :class:`~mixcl.evaluation.metrics.feature_metric.FeatureMetric`.
        prefix: ditto.

    Raises:
        UserError: if ``neighbours`` or ``temperature`` mean nothing.
    """

    def __init__(
        self,
        neighbours: Sequence[int] = NEIGHBOURS,
        temperature: float = TEMPERATURE,
        collect_device: str = 'gpu',
        prefix: str | None = None,
    ) -> None:
        super().__init__(collect_device=collect_device, prefix=prefix)
        check_vote(neighbours, temperature)
        self.neighbours = tuple(neighbours)
        self.temperature = temperature

    def compute(self, bank: Tensor, bank_labels: Tensor, queries: Tensor, labels: Tensor) -> dict[str, float]:
        return knn_accuracy(queries, labels, bank, bank_labels, self.neighbours, self.temperature)
