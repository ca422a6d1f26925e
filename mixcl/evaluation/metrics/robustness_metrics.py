"""Robustness of an ImageNet classifier as metrics of mmengine's evaluator."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from mmengine.evaluator import BaseMetric

from mixcl.datasets.imagenet_c import CORRUPTIONS, SEVERITIES
from mixcl.errors import UserError
from mixcl.evaluation.functional.robustness import masked_hits, mean_corruption_error
from mixcl.evaluation.metrics.joint_metric import JointMetric
from mixcl.registry import METRICS

BEST = (1, 5)


def _check_scores(metric: BaseMetric, samples: Sequence[dict]) -> None:
    expected = metric.dataset_meta['num_model_classes']
    for sample in samples:
        given = sample['pred_score'].numel()
        if given != expected:
            raise UserError(
                f'{type(metric).__name__}: the model tells {given} classes apart, but this data set needs the '
                f'{expected} of ImageNet-1K: give the checkpoint of a classifier fine-tuned on ImageNet-1K'
            )


@METRICS.register_module()
class MaskedAccuracy(JointMetric):
    """Accuracy ``top1`` and ``top5`` in percent, where only the classes of the data set may be answered.

    The data set's ``metainfo`` says which numbers its classes have in the model (``class_numbers``), as
    :class:`mixcl.datasets.imagenet_robustness.ImageNetA` does. Source: Hendrycks et al., Natural adversarial examples,
    https://arxiv.org/abs/1907.07174; The many faces of robustness, https://arxiv.org/abs/2006.16241.

    Args:
        collect_device: see :class:`~mixcl.evaluation.metrics.joint_metric.JointMetric`.
        prefix: ditto.
    """

    def process(self, data_batch: Any, data_samples: Sequence[dict]) -> None:
        """Judge a batch.

        Args:
            data_batch: not used.
            data_samples: with ``pred_score`` (1000,) and ``gt_label`` (1,).

        Raises:
            UserError: if the model knows another number of classes.
        """
        _check_scores(self, data_samples)
        classes = torch.tensor(self.dataset_meta['class_numbers'])
        scores = torch.stack([sample['pred_score'] for sample in data_samples]).cpu()
        labels = torch.cat([sample['gt_label'] for sample in data_samples]).cpu()
        hits = torch.stack([masked_hits(scores, labels, classes, best) for best in BEST], dim=1)
        self.results.extend(map(tuple, hits.tolist()))

    def measure(self, results: list[tuple[bool, ...]]) -> dict[str, float]:
        """Average the hits, in percent."""
        return {f'top{best}': 100 * float(share) for best, share in zip(BEST, np.mean(results, axis=0), strict=True)}


@METRICS.register_module()
class CorruptionRobustness(JointMetric):
    """Accuracy and error on ImageNet-C, in percent.

    ``top1`` is the mean accuracy over the 75 settings (SDMP's number), ``mce`` the mean corruption error relative to
    AlexNet, lower is better, and ``top1_<corruption>`` the accuracy on one corruption, over its severities.

    Args:
        collect_device: see :class:`~mixcl.evaluation.metrics.joint_metric.JointMetric`.
        prefix: ditto.

    Raises:
        UserError: if one of the 75 settings has no image.
    """

    def process(self, data_batch: Any, data_samples: Sequence[dict]) -> None:
        """Judge a batch.

        Args:
            data_batch: not used.
            data_samples: with ``pred_score`` (1000,), ``gt_label`` (1,), ``corruption`` and ``severity``.

        Raises:
            UserError: if the model knows another number of classes.
        """
        _check_scores(self, data_samples)
        for sample in data_samples:
            setting = CORRUPTIONS.index(sample['corruption']) * len(SEVERITIES) + SEVERITIES.index(sample['severity'])
            wrong = int(sample['pred_score'].argmax() != sample['gt_label'])
            # One small integer per image: there are 3.75 million, and Python shares such objects.
            self.results.append(2 * setting + wrong)

    def measure(self, results: list[int]) -> dict[str, float]:
        """Average by setting, then over severities, then over corruptions."""
        counts = np.bincount(results, minlength=2 * len(CORRUPTIONS) * len(SEVERITIES))
        right, wrong = counts.reshape(len(CORRUPTIONS), len(SEVERITIES), 2).transpose(2, 0, 1)
        if not (right + wrong).all():
            raise UserError(
                'CorruptionRobustness: the data set has no image of some of the 75 settings of ImageNet-C: test all of '
                "it, without indices in the data set's config"
            )
        errors = wrong / (right + wrong)
        by_corruption = 100 * (1 - errors.mean(axis=1))
        return dict(
            top1=float(by_corruption.mean()),
            mce=100 * mean_corruption_error(dict(zip(CORRUPTIONS, errors, strict=True))),
            **{f'top1_{name}': float(value) for name, value in zip(CORRUPTIONS, by_corruption, strict=True)},
        )
