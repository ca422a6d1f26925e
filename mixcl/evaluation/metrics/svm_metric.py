"""VOC07's linear SVMs on frozen features."""

from collections.abc import Sequence
from dataclasses import dataclass

from torch import Tensor

from mixcl.errors import UserError
from mixcl.evaluation.functional.low_shot import SAMPLES, SHOTS, low_shot_mean_average_precisions
from mixcl.evaluation.functional.svm import COSTS, svm_mean_average_precisions
from mixcl.evaluation.metrics.feature_metric import FeatureMetric
from mixcl.registry import METRICS


@METRICS.register_module()
@dataclass
class VOCSVM(FeatureMetric):
    """Mean average precision of one linear SVM per class, in percent.

    ``svm_map`` is the papers' number, the area under the precision-recall curve with interpolated precision. Protocol:
    :func:`mixcl.evaluation.functional.svm.svm_mean_average_precisions`.

    Args:
        costs: candidates for the SVM's C, each above 0.
        seed: of liblinear.
        jobs: processes; each needs about 24 bytes per training value. -1: one per CPU core.
    """

    costs: Sequence[float] = COSTS
    seed: int = 0
    jobs: int = 1

    def compute(self, bank: Tensor, bank_labels: Tensor, queries: Tensor, labels: Tensor) -> dict[str, float]:
        return svm_mean_average_precisions(bank, bank_labels, queries, labels, self.costs, self.seed, self.jobs)


@METRICS.register_module()
@dataclass
class VOCLowShot(VOCSVM):
    """Mean average precision of linear SVMs on k positives and 19 k negatives per class, in percent.

    ``lowshot{k}_map`` is the mean over the random samples, ``lowshot{k}_map_std`` their (population) standard
    deviation. Protocol: :func:`mixcl.evaluation.functional.low_shot.low_shot_mean_average_precisions`; the SVM's C is
    chosen on the test images, as in the papers.

    Args:
        shots: values of k, 1 or more, each with so many random ``samples``; the others same as :class:`VOCSVM`.
    """

    shots: Sequence[int] = SHOTS
    samples: int = SAMPLES

    def __post_init__(self) -> None:
        if not self.shots or min(self.shots) < 1:
            raise UserError(f'VOCLowShot: shots must be one or more integers from 1, not {self.shots!r}')

    def compute(self, bank: Tensor, bank_labels: Tensor, queries: Tensor, labels: Tensor) -> dict[str, float]:
        settings = self.shots, self.samples, self.costs, self.seed, self.jobs
        return low_shot_mean_average_precisions(bank, bank_labels, queries, labels, *settings)
