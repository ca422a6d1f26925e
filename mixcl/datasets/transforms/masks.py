"""Transforms of images together with their masks of classes."""

from pathlib import Path

import cv2
import numpy as np
from mmcv.transforms import BaseTransform
from PIL import Image

from mixcl.errors import UserError
from mixcl.registry import TRANSFORMS

NO_CLASS = 255
"""Value of a mask's pixels that no class is known of, such as borders of objects in VOC."""


def mask_of(path: str | Path) -> np.ndarray:
    """Read a mask (H, W) uint8 from a file of grey levels or of palette colours, whose numbers count.

    Raises:
        UserError: if the file cannot be read or has other colours.
    """
    try:
        with Image.open(path) as image:
            if image.mode in ('L', 'P', '1'):
                return np.array(image, dtype=np.uint8)
            kind = image.mode
    except (OSError, ValueError, SyntaxError) as error:
        raise UserError(f'the mask {path} cannot be read ({error}); replace it, or remove it and its image') from error
    raise UserError(
        f'the mask {path} has pixels of kind {kind}; write one byte for each pixel, the number of its class'
    )


@TRANSFORMS.register_module()
class LoadMask(BaseTransform):
    """Transform that reads the mask of an image: ``mask_path`` to ``gt_classes`` (H, W) uint8, of ``num_classes``."""

    def transform(self, results: dict) -> dict:
        mask = mask_of(results['mask_path'])
        if mask.shape != results['img'].shape[:2]:
            raise UserError(
                f'{results["mask_path"]} has {mask.shape} pixels, but {results["img_path"]} (upright, as its EXIF tag '
                f'says) has {results["img"].shape[:2]}; a mask has the size of its image'
            )
        if len(wrong := np.unique(mask[(mask >= results['num_classes']) & (mask != NO_CLASS)])):
            raise UserError(
                f'{results["mask_path"]} has the grey level {wrong[0]}, but there are {results["num_classes"]} '
                f'classes, from 0 on; write {NO_CLASS} where there is none'
            )
        return {**results, 'gt_classes': mask}


@TRANSFORMS.register_module()
class MaskedCrop(BaseTransform):
    """Crop of an image and its mask at a random scale, mirrored every other time: views of DINOv2's segmentation.

    The short side is resized to ``ratio`` times the crop (image bilinear, mask nearest). What lies outside the image is
    of no class, in the mean colour of the image.

    Args:
        crop_size: side in pixels.
        ratio: smallest and largest.
        most: a crop of which one class has a larger share is drawn again, up to ten times.
    """

    def __init__(self, crop_size: int, ratio: tuple[float, float] = (0.5, 2.0), most: float = 0.75) -> None:
        self.size, self.ratio, self.most = crop_size, ratio, most

    def transform(self, results: dict) -> dict:
        """Replace ``img`` and ``gt_classes`` by crops of (crop_size, crop_size)."""
        image, mask = results['img'], results['gt_classes']
        scale = self.size * np.random.uniform(*self.ratio) / min(image.shape[:2])
        height, width = (max(round(side * scale), 1) for side in image.shape[:2])
        image = cv2.resize(image, (width, height), interpolation=cv2.INTER_LINEAR if scale > 1 else cv2.INTER_AREA)
        mask = cv2.resize(mask, (width, height), interpolation=cv2.INTER_NEAREST)
        for _ in range(10):
            top, left = (np.random.randint(max(side - self.size, 0) + 1) for side in (height, width))
            inside = slice(top, top + self.size), slice(left, left + self.size)
            counts = np.bincount(mask[inside].ravel(), minlength=NO_CLASS + 1)[:NO_CLASS]
            if (counts > 0).sum() > 1 and counts.max() < self.most * counts.sum():
                break
        square = (self.size, self.size)
        made = np.empty((*square, image.shape[2]), image.dtype), np.full(square, NO_CLASS, dtype=np.uint8)
        made[0][:] = image.mean(axis=(0, 1)).round()
        step = -1 if np.random.random() < 0.5 else 1
        for whole, part in zip(made, (image[inside], mask[inside]), strict=True):
            whole[: part.shape[0], : part.shape[1]] = part
        image, mask = (np.ascontiguousarray(whole[:, ::step]) for whole in made)
        return {**results, 'img': image, 'img_shape': image.shape[:2], 'gt_classes': mask}
