"""Accuracy of several classifiers that predict side by side."""

from collections.abc import Sequence

import torch
from mmengine.evaluator import BaseMetric
from mmpretrain.evaluation import Accuracy

from mixcl.evaluation.functional.feature_checks import check_settings
from mixcl.registry import METRICS


@METRICS.register_module()
class StageAccuracy(BaseMetric):
    """Accuracy of each of the :class:`~mixcl.evaluation.models.StageProbes`, in percent, and the best stage's top-1.

    Names: ``accuracy/feat1_top1``, ``accuracy/feat1_top5``, ..., ``accuracy/best_top1``.

    Args:
        topk: values of k, 1 among them.
    """

    default_prefix = 'accuracy'

    def __init__(self, topk: Sequence[int] = (1, 5)) -> None:
        super().__init__()
        check_settings('StageAccuracy', dict(topk=topk))
        self.topk = tuple(topk)

    def process(self, data_batch: dict, data_samples: Sequence[dict]) -> None:
        """Keep scores (stages, classes) and label of every sample."""
        self.results += [(sample['stage_scores'].cpu(), sample['gt_label'].cpu()) for sample in data_samples]

    def compute_metrics(self, results: list) -> dict[str, float]:
        scores, labels = (torch.stack(values) for values in zip(*results, strict=True))
        metrics = {}
        for stage in range(scores.shape[1]):
            accuracies = Accuracy.calculate(scores[:, stage], labels.flatten(), self.topk)
            for k, (accuracy,) in zip(self.topk, accuracies, strict=True):
                metrics[f'feat{stage + 1}_top{k}'] = accuracy.item()
        return metrics | dict(best_top1=max(value for name, value in metrics.items() if name.endswith('_top1')))
