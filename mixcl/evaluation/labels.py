"""What the images of an evaluation are labelled with."""

from collections.abc import Callable, Sequence

import torch
from torch import Tensor
from torch.utils.data import DataLoader

from mixcl.errors import UserError

ReadLabels = Callable[[Sequence, DataLoader], Tensor]
"""(data samples of a batch, the loader they came from, for messages) to one row per image, on the CPU."""


def class_labels(samples: Sequence, dataloader: DataLoader) -> Tensor:
    """Classes (B,) int64 of mmpretrain's data samples with ``gt_label`` (1,).

    Raises:
        UserError: if an image has no class, or several.
    """
    if any('gt_label' not in sample or sample.gt_label.numel() != 1 for sample in samples):
        raise UserError(
            f'{type(dataloader.dataset).__name__} does not give one label per image, which this evaluation needs: use '
            'a labelled data set, or switch evaluation off with val_dataloader = val_cfg = val_evaluator = None '
            '(test_ too)'
        )
    return torch.cat([sample.gt_label for sample in samples]).cpu()


def presence_labels(samples: Sequence, dataloader: DataLoader) -> Tensor:
    """Which classes images show, (B, C) int8 (1 present, 0 difficult objects only, -1 absent), of samples with
    ``present`` (C,).

    Raises:
        UserError: if an image lacks it.
    """
    if any('present' not in sample for sample in samples):
        raise UserError(
            f'{type(dataloader.dataset).__name__} does not say which classes an image shows, which this evaluation '
            'needs: use a data set of several labels per image, such as VOC07'
        )
    return torch.stack([torch.as_tensor(sample.present) for sample in samples]).to('cpu', torch.int8)


LABELS: dict[str, ReadLabels] = {'class': class_labels, 'multiple': presence_labels}
"""The kinds of labels by their names in configs."""
