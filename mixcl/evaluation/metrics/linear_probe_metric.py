"""Linear probes on stored features."""

from torch import Tensor

from mixcl.evaluation.functional.linear_probe import ProbeSettings, probe_sweep
from mixcl.evaluation.metrics.feature_metric import FeatureMetric
from mixcl.registry import METRICS


@METRICS.register_module()
class LinearProbeSweep(ProbeSettings, FeatureMetric):
    """Top-1 accuracy of linear probes on features of images without augmentation, for all learning rates at once.

    Rate and weight decay are chosen on a held-out part of the training features (the bank); every probe is then
    trained on all of them and tested on the queries. In percent:

    - ``probe_top1``: test accuracy of the chosen one, the number to report;
    - ``probe_held_out``: its accuracy on the held-out part;
    - ``probe_rate``, ``probe_weight_decay``: what was chosen;
    - ``probe_lr{rate}_wd{decay}_top1``: test accuracies of all; the best of them is optimistic.

    Its arguments are those of :class:`~mixcl.evaluation.functional.linear_probe.ProbeSettings`.
    """

    def compute(self, bank: Tensor, bank_labels: Tensor, queries: Tensor, labels: Tensor) -> dict[str, float]:
        result = probe_sweep(bank, bank_labels, queries, labels, self)
        rate, weight_decay = self.grid[result.chosen]
        chosen = dict(
            probe_top1=result.test[result.chosen],
            probe_held_out=result.held_out[result.chosen],
            probe_rate=rate,
            probe_weight_decay=weight_decay,
        )
        pairs = zip(self.grid, result.test, strict=True)
        return chosen | {f'probe_lr{rate:g}_wd{decay:g}_top1': accuracy for (rate, decay), accuracy in pairs}
