"""Metrics of the robustness of an ImageNet classifier, for mmengine's evaluator."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from mmengine.evaluator import BaseMetric
from mmpretrain.evaluation import Accuracy

from mixcl.datasets.imagenet_robustness import ALEXNET_ERRORS, CORRUPTIONS, SEVERITIES
from mixcl.registry import METRICS


@METRICS.register_module()
class MaskedAccuracy(Accuracy):
    """Accuracy ``top1`` and ``top5`` in percent, where only the classes of the data set can be predicted.

    The data set's ``metainfo`` lists the numbers that its classes have in the model (``class_numbers``, ascending), as
    :class:`mixcl.datasets.imagenet_robustness.ImageNetA` does. Source: Hendrycks et al., Natural adversarial examples,
    https://arxiv.org/abs/1907.07174; The many faces of robustness, https://arxiv.org/abs/2006.16241.
    """

    default_prefix = ''

    def __init__(self) -> None:
        super().__init__(topk=(1, 5), thrs=None)

    def process(self, data_batch: Any, data_samples: Sequence[dict]) -> None:
        """Restrict samples to ``class_numbers``: ``pred_score`` (1000,) and ``gt_label`` (1,), which is one of them."""
        classes = torch.tensor(self.dataset_meta['class_numbers'])
        masked = [
            dict(
                pred_score=sample['pred_score'].cpu()[classes],
                gt_label=torch.searchsorted(classes, sample['gt_label'].cpu()),
            )
            for sample in data_samples
        ]
        super().process(data_batch, masked)


@METRICS.register_module()
class CorruptionRobustness(BaseMetric):
    """Accuracy and error on ImageNet-C, in percent; all 75 settings must be present.

    ``top1`` is the mean accuracy over the 75 settings (SDMP's number), ``top1_<corruption>`` the accuracy on one
    corruption, over its severities. ``mce`` is the mean corruption error: the error on each corruption divided by
    AlexNet's, averaged over the corruptions; lower is better. Source: Hendrycks and Dietterich, Benchmarking neural
    network robustness to common corruptions and perturbations, https://arxiv.org/abs/1903.12261, section 3.2.
    """

    default_prefix = ''

    def process(self, data_batch: Any, data_samples: Sequence[dict]) -> None:
        """Judge samples with ``pred_score`` (1000,), ``gt_label`` (1,), ``corruption`` and ``severity``."""
        for sample in data_samples:
            setting = CORRUPTIONS.index(sample['corruption']) * len(SEVERITIES) + SEVERITIES.index(sample['severity'])
            wrong = int(sample['pred_score'].argmax() != sample['gt_label'])
            # One small integer per image: there are 3.75 million, and Python shares small integers.
            self.results.append(2 * setting + wrong)

    def compute_metrics(self, results: list[int]) -> dict[str, float]:
        counts = np.bincount(results, minlength=2 * len(CORRUPTIONS) * len(SEVERITIES))
        right, wrong = counts.reshape(len(CORRUPTIONS), len(SEVERITIES), 2).transpose(2, 0, 1)
        errors = (wrong / (right + wrong)).mean(axis=1)
        by_corruption = 100 * (1 - errors)
        return dict(
            top1=float(by_corruption.mean()),
            mce=100 * float(np.mean(errors / list(ALEXNET_ERRORS.values()))),
            **{f'top1_{name}': float(value) for name, value in zip(CORRUPTIONS, by_corruption, strict=True)},
        )
