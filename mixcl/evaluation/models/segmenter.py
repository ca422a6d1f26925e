"""Segmentation by a linear layer on the tokens of a frozen backbone."""

from collections.abc import Sequence
from itertools import product
from typing import Any

import torch
from mmengine.dist import all_reduce
from mmengine.model import BaseModule
from mmpretrain.models import ImageClassifier
from mmpretrain.structures import DataSample
from torch import Tensor, nn
from torch.nn.functional import cross_entropy, interpolate

from mixcl.backbones.patch_size import patch_size_of
from mixcl.datasets.transforms.masks import NO_CLASS
from mixcl.errors import UserError
from mixcl.heads.sync_batch_norm import SyncBatchNorm
from mixcl.registry import MODELS


@MODELS.register_module()
class TokenClassifier(BaseModule):
    """A linear layer on each token, after a batch normalisation over all of them, as in DINOv2's code.

    Args:
        num_classes: K.
        in_channels: C.
        init_cfg: of mmengine's ``BaseModule``.
    """

    def __init__(
        self,
        num_classes: int,
        in_channels: int,
        init_cfg: dict | None = dict(type='Normal', layer='Linear', std=0.01),  # noqa: B006 (mmengine copies it)
    ) -> None:
        super().__init__(init_cfg)
        self.num_classes = num_classes
        self.norm = SyncBatchNorm(in_channels)
        self.fc = nn.Linear(in_channels, num_classes)

    def forward(self, features: tuple[Tensor, ...]) -> Tensor:
        """Compute scores (B, K, h, w) from tokens (B, h, w, C)."""
        (tokens,) = features
        scores = self.fc(self.norm(tokens.flatten(0, 2)))
        return scores.unflatten(0, tokens.shape[:3]).permute(0, 3, 1, 2)

    def loss(self, features: tuple[Tensor, ...], data_samples: list[DataSample]) -> dict[str, Tensor]:
        """Return the mean cross-entropy of the pixels that have a class, of scores upsampled bilinearly."""
        scores = self(features).float()
        classes = torch.stack([torch.as_tensor(sample.gt_classes) for sample in data_samples]).to(scores.device).long()
        scores = interpolate(scores, classes.shape[1:], mode='bilinear', align_corners=False)
        total = cross_entropy(scores, classes, ignore_index=NO_CLASS, reduction='sum')
        count = (classes != NO_CLASS).sum().float()
        all_reduce(count, 'mean')  # of all processes, whose gradients are averaged
        return dict(loss=total / count.clamp_min(1))


@MODELS.register_module()
class Segmenter(ImageClassifier):
    """A frozen backbone with a :class:`TokenClassifier`, trained on square crops, tested on whole images.

    A test image is resized to the short side ``size``, without a change of its proportions. Squares that overlap by a
    third are encoded; their scores, upsampled to pixels, are averaged, and upsampled once more to the image's own size.

    Args:
        size: side in pixels of the crops and the squares.
        **kwargs: arguments of mmpretrain's ``ImageClassifier``.

    Raises:
        UserError: if the backbone's patches do not fill a square.
    """

    def __init__(self, size: int, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.size = size
        patch = patch_size_of(self.backbone.backbone)
        if patch and size % patch:
            raise UserError(
                f'squares of {size} pixels cannot be cut into patches of {patch}; set segment.data.size='
                f'{-(-size // patch) * patch} by `cfg_options`'
            )

    def predict(self, inputs: Tensor, data_samples: list[DataSample], **kwargs: Any) -> list[DataSample]:
        """Fill ``pred_classes`` (H, W) uint8 of every sample, in the size of its ``gt_classes``."""
        for image, sample in zip(inputs, data_samples, strict=True):
            scores = self.scores(image[None])
            whole = interpolate(scores, sample.gt_classes.shape, mode='bilinear', align_corners=False)
            sample.set_field(whole[0].argmax(dim=0).to(torch.uint8), 'pred_classes')
        return data_samples

    def scores(self, image: Tensor) -> Tensor:
        """Compute scores (1, K, h, w) of every pixel of a normalised image (1, 3, H, W) resized to the short side."""
        scale = self.size / min(image.shape[-2:])
        sides = [max(round(side * scale), self.size) for side in image.shape[-2:]]
        if sides != [*image.shape[-2:]]:
            image = interpolate(image, sides, mode='bilinear', align_corners=False, antialias=True)
        total = image.new_zeros(1, self.head.num_classes, *sides)
        times = image.new_zeros(sides)
        for top, left in product(*(places(side, self.size) for side in sides)):
            rows, columns = slice(top, top + self.size), slice(left, left + self.size)
            found = self.head(self.extract_feat(image[..., rows, columns])).float()
            total[..., rows, columns] += interpolate(found, (self.size,) * 2, mode='bilinear', align_corners=False)
            times[rows, columns] += 1
        return total / times


def places(side: int, square: int) -> Sequence[int]:
    """Return where squares begin that cover a side and overlap by a third, or more where the last ends with it."""
    step = max(square * 2 // 3, 1)
    return sorted({min(start, side - square) for start in range(0, max(side - square, 0) + step, step)})
