"""Linear probes on stored features."""

from torch import Tensor

from mixcl.evaluation.functional.linear_probe import ProbeSettings, probe_sweep
from mixcl.evaluation.metrics.feature_metric import FeatureMetric
from mixcl.registry import METRICS


@METRICS.register_module()
class LinearProbeSweep(ProbeSettings, FeatureMetric):
    """Top-1 accuracies of linear probes on features of images without augmentation, at many learning rates at once.

    Rate and weight decay are chosen on a held-out part of the training features (the bank); every probe is then
    trained on all of them and tested on the queries. Values:
    :func:`~mixcl.evaluation.functional.linear_probe.probe_sweep`; arguments same as
    :class:`~mixcl.evaluation.functional.linear_probe.ProbeSettings`.
    """

    def compute(self, bank: Tensor, bank_labels: Tensor, queries: Tensor, labels: Tensor) -> dict[str, float]:
        return probe_sweep(bank, bank_labels, queries, labels, self)
