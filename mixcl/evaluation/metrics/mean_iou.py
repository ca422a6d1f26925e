"""Mean intersection over union of a segmentation."""

from collections.abc import Sequence

import torch
from mmengine.evaluator import BaseMetric
from torch import Tensor

from mixcl.datasets.transforms.masks import NO_CLASS
from mixcl.errors import UserError
from mixcl.registry import METRICS


@METRICS.register_module()
class MeanIoU(BaseMetric):
    """Mean over classes of intersection over union, counted over the pixels of all images together, in percent.

    Names: ``segment/miou``, ``pixel_accuracy``, and ``iou_{class}`` of each class that occurs. Pixels without a class
    (255) do not count, nor does in the mean a class that no pixel has or is given.

    Raises:
        UserError: if no pixel has a class.

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
        if not counts.any():
            raise UserError(f'no pixel of the test images has a class (all masks are {NO_CLASS}): give other masks')
        right, true = counts.diag(), counts.sum(dim=1)
        shares = 100 * right / (counts.sum(dim=0) + true - right)  # NaN of a class that no pixel has or is given
        overall = dict(miou=shares.nanmean().item(), pixel_accuracy=(100 * right.sum() / counts.sum()).item())
        listed = zip(self.dataset_meta['classes'], shares.tolist(), true.tolist(), strict=True)
        return overall | {f'iou_{name}': share for name, share, pixels in listed if pixels}


def confusion(true: Tensor, given: Tensor, classes: int) -> Tensor:
    """Count the pixels (K, K) int64 of each true class and each given one; true ones of 255 are left out."""
    true = true.to(given.device).flatten().long()
    known = true != NO_CLASS
    pairs = true[known] * classes + given.flatten().long()[known]
    return pairs.bincount(minlength=classes**2).unflatten(0, (classes, classes))
