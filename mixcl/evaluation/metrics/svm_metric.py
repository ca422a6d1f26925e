"""VOC07's linear SVMs on frozen features."""

from collections.abc import Sequence
from dataclasses import dataclass

from torch import Tensor

from mixcl.errors import UserError
from mixcl.evaluation.functional import low_shot, svm
from mixcl.evaluation.functional.low_shot import SAMPLES, SHOTS, low_shot_mean_average_precisions
from mixcl.evaluation.functional.svm import COSTS, FOLDS, svm_average_precisions
from mixcl.evaluation.metrics.feature_metric import FeatureMetric
from mixcl.registry import METRICS


@dataclass
class LinearSVMs(FeatureMetric):
    """What both metrics share.

    Args:
        costs: candidates for the SVM's C.
        seed: of liblinear and of what is drawn.
        jobs: processes; each needs about 24 bytes per training value. -1: one per CPU core.
    """

    costs: Sequence[float] = COSTS
    seed: int = 0
    jobs: int = 1

    def __post_init__(self) -> None:
        if not self.costs or not all(cost > 0 for cost in self.costs):
            raise UserError(f'{type(self).__name__}: costs must be one or more numbers above 0, not {self.costs!r}')


@METRICS.register_module()
@dataclass
class VOCSVM(LinearSVMs):
    """Mean average precision of one linear SVM per class, in percent.

    ``svm_map`` is the papers' number, the area under the precision-recall curve with interpolated precision;
    ``svm_map_11_point`` is VOC 2007's own. Protocol: :func:`mixcl.evaluation.functional.svm.svm_average_precisions`.

    Args:
        costs, seed, jobs: see :class:`LinearSVMs`.
        folds: of the cross-validation that chooses among the costs, 2 or more.

    Raises:
        UserError: if a cost is not above 0, or there are fewer than 2 folds.
    """

    folds: int = FOLDS

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.folds < 2:
            raise UserError(f'VOCSVM: cross-validation needs folds of 2 or more, not {self.folds}')

    def check_labels(self, bank_labels: Tensor, labels: Tensor) -> None:
        """Refuse data sets of which a class has too few images."""
        svm.check_examples(bank_labels, labels, self.folds)

    def compute(
        self, bank: Tensor, bank_labels: Tensor | None, queries: Tensor, labels: Tensor | None
    ) -> dict[str, float]:
        """Train on the bank, test on the queries."""
        bank_labels, labels = self.needed(bank_labels, labels)
        sets = bank, bank_labels, queries, labels
        area, eleven_point = svm_average_precisions(*sets, self.costs, self.folds, self.seed, self.jobs)
        return dict(svm_map=100 * float(area.mean()), svm_map_11_point=100 * float(eleven_point.mean()))


@METRICS.register_module()
@dataclass
class VOCLowShot(LinearSVMs):
    """Mean average precision of linear SVMs on k positives and 19 k negatives per class, in percent.

    ``lowshot{k}_map`` is the mean over the random samples, ``lowshot{k}_map_std`` their (population) standard
    deviation. Protocol:
    :func:`mixcl.evaluation.functional.low_shot.low_shot_mean_average_precisions`; the SVM's C is chosen on the test
    images, as in the papers.

    Args:
        costs, seed, jobs: see :class:`LinearSVMs`.
        shots: values of k.
        samples: random samples per k.

    Raises:
        UserError: if a setting means nothing.
    """

    shots: Sequence[int] = SHOTS
    samples: int = SAMPLES

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.shots or not all(isinstance(shot, int) and shot >= 1 for shot in self.shots):
            raise UserError(f'VOCLowShot: shots must be one or more integers from 1, not {self.shots!r}')
        if self.samples < 1:
            raise UserError(f'VOCLowShot: samples must be 1 or more, not {self.samples}')

    def check_labels(self, bank_labels: Tensor, labels: Tensor) -> None:
        """Refuse data sets of which a class has too few images."""
        low_shot.check_examples(bank_labels, labels, self.shots)

    def compute(
        self, bank: Tensor, bank_labels: Tensor | None, queries: Tensor, labels: Tensor | None
    ) -> dict[str, float]:
        """Train on the bank, test on the queries."""
        bank_labels, labels = self.needed(bank_labels, labels)
        settings = self.shots, self.samples, self.costs, self.seed, self.jobs
        tested = low_shot_mean_average_precisions(bank, bank_labels, queries, labels, *settings)
        means = {f'lowshot{shot}_map': 100 * float(values.mean()) for shot, values in tested.items()}
        spreads = {f'lowshot{shot}_map_std': 100 * float(values.std()) for shot, values in tested.items()}
        return means | spreads
