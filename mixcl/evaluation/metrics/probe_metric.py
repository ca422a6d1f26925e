"""Linear probes on cached features as a metric of mmengine's evaluator."""

from collections.abc import Sequence

from torch import Tensor

from mixcl.evaluation.functional.probe_sweep import probe_sweep
from mixcl.evaluation.functional.probes import RATES, WEIGHT_DECAYS, ProbeSettings
from mixcl.evaluation.metrics.feature_metric import FeatureMetric
from mixcl.registry import METRICS


@METRICS.register_module()
class LinearProbeSweep(FeatureMetric):
    """Top-1 accuracy of linear probes on un-augmented features, for all learning rates at once.

    Rate and weight decay are chosen on a held-out part of the training features (the bank); every probe is then
    trained on all of them and tested on the queries. In percent:

    - ``probe_top1``: test accuracy of the chosen one, the number to report;
    - ``probe_held_out``: its accuracy on the held-out part;
    - ``probe_rate``, ``probe_weight_decay``: what was chosen;
    - ``probe_lr{rate}_wd{decay}_top1``: test accuracies of all; the best of them is optimistic.

    Args:
        rates: see :class:`~mixcl.evaluation.functional.probes.ProbeSettings`, as the following.
        weight_decays: 0 or more.
        epochs: 1 or more.
        batch_size: 1 or more.
        momentum: in [0, 1).
        held_out: share in (0, 1).
        seed: of the held-out part and of the order.
        collect_device: see :class:`~mixcl.evaluation.metrics.feature_metric.FeatureMetric`.
        prefix: ditto.

    Raises:
        UserError: if a value is out of range.
    """

    def __init__(
        self,
        rates: Sequence[float] = RATES,
        weight_decays: Sequence[float] = WEIGHT_DECAYS,
        epochs: int = 100,
        batch_size: int = 256,
        momentum: float = 0.9,
        held_out: float = 0.1,
        seed: int = 0,
        collect_device: str = 'gpu',
        prefix: str | None = None,
    ) -> None:
        super().__init__(collect_device=collect_device, prefix=prefix)
        self.settings = ProbeSettings(rates, weight_decays, epochs, batch_size, momentum, held_out, seed)

    def compute(self, bank: Tensor, bank_labels: Tensor, queries: Tensor, labels: Tensor) -> dict[str, float]:
        result = probe_sweep(bank, bank_labels, queries, labels, self.settings, queries.device)
        rate, weight_decay = result.grid[result.chosen]
        chosen = dict(
            probe_top1=result.test[result.chosen],
            probe_held_out=result.held_out[result.chosen],
            probe_rate=rate,
            probe_weight_decay=weight_decay,
        )
        pairs = zip(result.grid, result.test, strict=True)
        return chosen | {f'probe_lr{rate:g}_wd{decay:g}_top1': accuracy for (rate, decay), accuracy in pairs}
