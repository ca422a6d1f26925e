"""VOC07's linear SVMs as metrics of frozen features."""

from collections.abc import Sequence

from torch import Tensor

from mixcl.errors import UserError
from mixcl.evaluation.functional import low_shot, svm
from mixcl.evaluation.functional.low_shot import SAMPLES, SHOTS, check_shots, low_shot_mean_average_precisions
from mixcl.evaluation.functional.svm import COSTS, FOLDS, check_costs, check_folds, svm_average_precisions
from mixcl.evaluation.metrics.feature_metric import FeatureMetric
from mixcl.registry import METRICS


def _labels(metric: FeatureMetric, *labels: Tensor | None) -> tuple[Tensor, ...]:
    if any(label is None for label in labels):
        raise UserError(
            f"{type(metric).__name__} needs labels: set labels='multiple' in the FeatureLoop of val_cfg or test_cfg"
        )
    return labels


@METRICS.register_module()
class VOCSVM(FeatureMetric):
    """Mean average precision of one linear SVM per class, in percent.

    ``svm_map`` is the papers' number, the area under the precision-recall curve with interpolated precision;
    ``svm_map_11_point`` is VOC 2007's own. Protocol: :func:`mixcl.evaluation.functional.svm.svm_average_precisions`.

    Args:
        costs: candidates for the SVM's C.
        folds: of the cross-validation that chooses among them.
        seed: of liblinear.
        jobs: processes; each needs about 24 bytes per training value. -1: one per CPU core.
        **kwargs: of :class:`~mixcl.evaluation.metrics.feature_metric.FeatureMetric`.

    Raises:
        UserError: if a cost is not above 0, or there are fewer than 2 folds.
    """

    def __init__(
        self, costs: Sequence[float] = COSTS, folds: int = FOLDS, seed: int = 0, jobs: int = 1, **kwargs
    ) -> None:
        super().__init__(**kwargs)
        check_costs(costs)
        check_folds(folds)
        self.settings = dict(costs=tuple(costs), folds=folds, seed=seed, jobs=jobs)

    def check_labels(self, bank_labels: Tensor, labels: Tensor) -> None:
        """Refuse data sets of which a class has too few images."""
        svm.check_examples(bank_labels, labels, self.settings['folds'])

    def compute(
        self, bank: Tensor, bank_labels: Tensor | None, queries: Tensor, labels: Tensor | None
    ) -> dict[str, float]:
        """Train on the bank, test on the queries."""
        bank_labels, labels = _labels(self, bank_labels, labels)
        area, eleven_point = svm_average_precisions(bank, bank_labels, queries, labels, **self.settings)
        return dict(svm_map=100 * float(area.mean()), svm_map_11_point=100 * float(eleven_point.mean()))


@METRICS.register_module()
class VOCLowShot(FeatureMetric):
    """Mean average precision of linear SVMs on k positives and 19 k negatives per class, in percent.

    ``lowshot{k}_map`` is the mean over the random samples, ``lowshot{k}_map_std`` their (population) standard
    deviation. Protocol:
    :func:`mixcl.evaluation.functional.low_shot.low_shot_mean_average_precisions`; the SVM's C is chosen on the test
    images, as in the papers.

    Args:
        shots: values of k.
        samples: random samples per k.
        costs: candidates for the SVM's C.
        seed: of the samples and of liblinear.
        jobs: processes. -1: one per CPU core.
        **kwargs: of :class:`~mixcl.evaluation.metrics.feature_metric.FeatureMetric`.

    Raises:
        UserError: if a setting means nothing.
    """

    def __init__(
        self,
        shots: Sequence[int] = SHOTS,
        samples: int = SAMPLES,
        costs: Sequence[float] = COSTS,
        seed: int = 0,
        jobs: int = 1,
        **kwargs,
    ) -> None:
        super().__init__(**kwargs)
        check_costs(costs)
        check_shots(shots, samples)
        self.settings = dict(shots=tuple(shots), samples=samples, costs=tuple(costs), seed=seed, jobs=jobs)

    def check_labels(self, bank_labels: Tensor, labels: Tensor) -> None:
        """Refuse data sets of which a class has too few images."""
        low_shot.check_examples(bank_labels, labels, self.settings['shots'])

    def compute(
        self, bank: Tensor, bank_labels: Tensor | None, queries: Tensor, labels: Tensor | None
    ) -> dict[str, float]:
        """Train on the bank, test on the queries."""
        bank_labels, labels = _labels(self, bank_labels, labels)
        tested = low_shot_mean_average_precisions(bank, bank_labels, queries, labels, **self.settings)
        means = {f'lowshot{shot}_map': 100 * float(values.mean()) for shot, values in tested.items()}
        spreads = {f'lowshot{shot}_map_std': 100 * float(values.std()) for shot, values in tested.items()}
        return means | spreads
