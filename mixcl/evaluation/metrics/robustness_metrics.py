"""Robustness of an ImageNet classifier as metrics of mmengine's evaluator."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from mmengine.evaluator import BaseMetric

from mixcl.errors import UserError
from mixcl.evaluation.functional.robustness import CORRUPTIONS, SEVERITIES, masked_hits, mean_corruption_error
from mixcl.registry import METRICS

BEST = (1, 5)


class ImageNetTest(BaseMetric):
    """Tests of classifiers of ImageNet-1K.

    Args:
        collect_device: 'gpu' gathers through the process group (over gloo too); 'cpu' through files in a folder that
            all processes must see.
        prefix: of mmengine's metrics.
    """

    default_prefix = ''

    def __init__(self, collect_device: str = 'gpu', prefix: str | None = None) -> None:
        super().__init__(collect_device=collect_device, prefix=prefix)

    def check_scores(self, samples: Sequence[dict]) -> None:
        """Refuse predictions (``pred_score``) of a model that knows another number of classes."""
        expected = self.dataset_meta['num_model_classes']
        for sample in samples:
            given = sample['pred_score'].numel()
            if given != expected:
                raise UserError(
                    f'{type(self).__name__}: the model tells {given} classes apart, but this data set needs the '
                    f'{expected} of ImageNet-1K: give the checkpoint of a classifier fine-tuned on ImageNet-1K'
                )


@METRICS.register_module()
class MaskedAccuracy(ImageNetTest):
    """Accuracy ``top1`` and ``top5`` in percent, where only the classes of the data set may be answered.

    The data set's ``metainfo`` says which numbers its classes have in the model (``class_numbers``), as
    :class:`mixcl.datasets.imagenet_robustness.ImageNetA` does. Source: Hendrycks et al., Natural adversarial examples,
    https://arxiv.org/abs/1907.07174; The many faces of robustness, https://arxiv.org/abs/2006.16241.
    """

    def process(self, data_batch: Any, data_samples: Sequence[dict]) -> None:
        """Judge a batch.

        Args:
            data_batch: not used.
            data_samples: with ``pred_score`` (1000,) and ``gt_label`` (1,).

        Raises:
            UserError: if the model knows another number of classes.
        """
        self.check_scores(data_samples)
        classes = torch.tensor(self.dataset_meta['class_numbers'])
        scores = torch.stack([sample['pred_score'] for sample in data_samples]).cpu()
        labels = torch.cat([sample['gt_label'] for sample in data_samples]).cpu()
        hits = torch.stack([masked_hits(scores, labels, classes, best) for best in BEST], dim=1)
        self.results.extend(map(tuple, hits.tolist()))

    def compute_metrics(self, results: list[tuple[bool, ...]]) -> dict[str, float]:
        """Average the hits, in percent."""
        return {f'top{best}': 100 * float(share) for best, share in zip(BEST, np.mean(results, axis=0), strict=True)}


@METRICS.register_module()
class CorruptionRobustness(ImageNetTest):
    """Accuracy and error on ImageNet-C, in percent.

    ``top1`` is the mean accuracy over the 75 settings (SDMP's number), ``mce`` the mean corruption error relative to
    AlexNet, lower is better, and ``top1_<corruption>`` the accuracy on one corruption, over its severities.
    """

    def process(self, data_batch: Any, data_samples: Sequence[dict]) -> None:
        """Judge a batch.

        Args:
            data_batch: not used.
            data_samples: with ``pred_score`` (1000,), ``gt_label`` (1,), ``corruption`` and ``severity``.

        Raises:
            UserError: if the model knows another number of classes.
        """
        self.check_scores(data_samples)
        for sample in data_samples:
            setting = CORRUPTIONS.index(sample['corruption']) * len(SEVERITIES) + SEVERITIES.index(sample['severity'])
            wrong = int(sample['pred_score'].argmax() != sample['gt_label'])
            # One small integer per image: there are 3.75 million, and Python shares such objects.
            self.results.append(2 * setting + wrong)

    def evaluate(self, size: int) -> dict[str, float]:
        """Merge the processes and average.

        Raises:
            UserError: in every process, if one of the 75 settings has no image.
        """
        metrics = super().evaluate(size)
        if not metrics:
            raise UserError(
                'CorruptionRobustness: the data set has no image of some of the 75 settings of ImageNet-C: test all of '
                "it, without indices in the data set's config"
            )
        return metrics

    def compute_metrics(self, results: list[int]) -> dict[str, float]:
        """Average by setting, then over severities, then over corruptions; nothing if a setting has no image.

        Only the main process calls this, so that an error here would leave the others waiting.
        """
        counts = np.bincount(results, minlength=2 * len(CORRUPTIONS) * len(SEVERITIES))
        right, wrong = counts.reshape(len(CORRUPTIONS), len(SEVERITIES), 2).transpose(2, 0, 1)
        if not (right + wrong).all():
            return {}
        errors = wrong / (right + wrong)
        by_corruption = 100 * (1 - errors.mean(axis=1))
        return dict(
            top1=float(by_corruption.mean()),
            mce=100 * mean_corruption_error(dict(zip(CORRUPTIONS, errors, strict=True))),
            **{f'top1_{name}': float(value) for name, value in zip(CORRUPTIONS, by_corruption, strict=True)},
        )
