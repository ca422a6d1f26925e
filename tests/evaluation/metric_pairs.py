"""What two processes learn from a metric that only one of them computes.

In a module of its own because spawned processes cannot import test modules.
"""

import torch

from mixcl.errors import UserError
from mixcl.evaluation.metrics.robustness_metrics import CorruptionRobustness


def incomplete_corruptions(rank: int) -> str:
    """The refusal that a process meets after testing one image of one setting."""
    metric = CorruptionRobustness()
    metric.dataset_meta = dict(num_model_classes=3)
    sample = dict(pred_score=torch.zeros(3), gt_label=torch.tensor([rank]), corruption='snow', severity=1)
    metric.process(None, [sample])
    try:
        metric.evaluate(2)
    except UserError as error:
        return str(error)
    return 'no refusal'
