"""Mean intersection over union of a segmentation."""

from collections.abc import Sequence
from statistics import mean

import torch
from mmengine.evaluator import BaseMetric
from torch import Tensor

from mixcl.datasets.transforms.masks import NO_CLASS
from mixcl.registry import METRICS


@METRICS.register_module()
class MeanIoU(BaseMetric):
    """Mean over classes of intersection over union, counted over the pixels of all images together, in percent.

    Names: ``segment/miou``, ``pixel_accuracy``, and ``iou_{class}`` of each class that a pixel has or is given; others
    do not count, nor do pixels without a class (255).

    Source: Everingham et al., The PASCAL Visual Object Classes challenge, 2010, section 4.3.
    """

    default_prefix = 'segment'

    def process(self, data_batch: dict, data_samples: Sequence[dict]) -> None:
        """Keep the confusion matrix (K, K) of each image, true classes by given ones."""
        classes = len(self.dataset_meta['classes'])
        self.results += [
            confusion(torch.as_tensor(sample['gt_classes']), sample['pred_classes'], classes).cpu()
            for sample in data_samples
        ]

    def compute_metrics(self, results: list[Tensor]) -> dict[str, float]:
        counts = torch.stack(results).sum(dim=0).double()
        right = counts.diag()
        union = counts.sum(dim=0) + counts.sum(dim=1) - right
        names = [f'iou_{name}' for name in self.dataset_meta['classes']]
        occurring = zip(names, right.tolist(), union.tolist(), strict=True)
        shares = {name: 100 * shared / whole for name, shared, whole in occurring if whole}
        overall = dict(miou=mean(shares.values()), pixel_accuracy=(100 * right.sum() / counts.sum()).item())
        return overall | shares


def confusion(true: Tensor, given: Tensor, classes: int) -> Tensor:
    """Count the pixels (K, K) int64 of each true class and each given one; true ones of 255 are left out."""
    true = true.to(given.device).flatten().long()
    known = true != NO_CLASS
    pairs = true[known] * classes + given.flatten().long()[known]
    return pairs.bincount(minlength=classes**2).unflatten(0, (classes, classes))
