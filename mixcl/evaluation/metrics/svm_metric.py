"""VOC07's linear SVMs on frozen features."""

from collections.abc import Sequence
from dataclasses import dataclass

from torch import Tensor

from mixcl.errors import UserError
from mixcl.evaluation.functional.low_shot import SAMPLES, SHOTS, low_shot_mean_average_precisions
from mixcl.evaluation.functional.svm import COSTS, svm_average_precisions
from mixcl.evaluation.metrics.feature_metric import FeatureMetric
from mixcl.registry import METRICS


@METRICS.register_module()
@dataclass
class VOCSVM(FeatureMetric):
    """Mean average precision of one linear SVM per class, in percent.

    ``svm_map`` is the papers' number, the area under the precision-recall curve with interpolated precision;
    ``svm_map_11_point`` is VOC 2007's own. Protocol: :func:`mixcl.evaluation.functional.svm.svm_average_precisions`.

    Args:
        costs: candidates for the SVM's C, each above 0.
        seed: of liblinear.
        jobs: processes; each needs about 24 bytes per training value. -1: one per CPU core.
    """

    costs: Sequence[float] = COSTS
    seed: int = 0
    jobs: int = 1

    def compute(self, bank: Tensor, bank_labels: Tensor, queries: Tensor, labels: Tensor) -> dict[str, float]:
        """Train on the bank, test on the queries."""
        sets = bank, bank_labels, queries, labels
        area, eleven_point = svm_average_precisions(*sets, self.costs, self.seed, self.jobs)
        return dict(svm_map=100 * float(area.mean()), svm_map_11_point=100 * float(eleven_point.mean()))


@METRICS.register_module()
@dataclass
class VOCLowShot(FeatureMetric):
    """Mean average precision of linear SVMs on k positives and 19 k negatives per class, in percent.

    ``lowshot{k}_map`` is the mean over the random samples, ``lowshot{k}_map_std`` their (population) standard
    deviation. Protocol: :func:`mixcl.evaluation.functional.low_shot.low_shot_mean_average_precisions`; the SVM's C is
    chosen on the test images, as in the papers.

    Args:
        costs: candidates for the SVM's C, each above 0.
        seed: of what is drawn, and of liblinear.
        jobs: processes; each needs about 24 bytes per training value. -1: one per CPU core.
        shots: values of k.
        samples: random samples per k.

    Raises:
        UserError: if a value of ``shots`` is below 1.
    """

    costs: Sequence[float] = COSTS
    seed: int = 0
    jobs: int = 1
    shots: Sequence[int] = SHOTS
    samples: int = SAMPLES

    def __post_init__(self) -> None:
        if not self.shots or min(self.shots) < 1:
            raise UserError(f'VOCLowShot: shots must be one or more integers from 1, not {self.shots!r}')

    def compute(self, bank: Tensor, bank_labels: Tensor, queries: Tensor, labels: Tensor) -> dict[str, float]:
        """Train on the bank, test on the queries."""
        settings = self.shots, self.samples, self.costs, self.seed, self.jobs
        tested = low_shot_mean_average_precisions(bank, bank_labels, queries, labels, *settings)
        means = {f'lowshot{shot}_map': 100 * float(values.mean()) for shot, values in tested.items()}
        spreads = {f'lowshot{shot}_map_std': 100 * float(values.std()) for shot, values in tested.items()}
        return means | spreads
