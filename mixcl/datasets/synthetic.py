"""Small colourful images that need no files."""

from typing import Any

import numpy as np
from mmpretrain.datasets import BaseDataset

from mixcl.registry import DATASETS


@DATASETS.register_module()
class SyntheticImages(BaseDataset):
    """Noisy stripes whose direction and colour show the class; an image is a function of its index.

    Each sample has ``img``, uint8 (image_size, image_size, channels), in BGR order if there are 3 channels, and
    ``gt_label``, the index modulo ``num_classes``. Images are drawn on access.

    Args:
        num_images: number of images, at least 1.
        image_size: side of an image in pixels.
        num_classes: number of patterns.
        channels: number of values per pixel.
        **kwargs: of mmpretrain's BaseDataset, for example ``pipeline``.
    """

    def __init__(
        self, num_images: int, image_size: int, num_classes: int = 4, channels: int = 3, **kwargs: Any
    ) -> None:
        self.num_images = num_images
        self.image_size = image_size
        self.num_classes = num_classes
        self.channels = channels
        classes = tuple(f'pattern {number}' for number in range(num_classes))
        super().__init__(ann_file='', metainfo={'classes': classes}, **kwargs)

    def load_data_list(self) -> list[dict]:
        return [{'gt_label': index % self.num_classes} for index in range(self.num_images)]

    def get_data_info(self, idx: int) -> dict:
        info = super().get_data_info(idx)
        size, hue = self.image_size, info['gt_label'] / self.num_classes
        random = np.random.default_rng(info['sample_idx'])
        rows, columns = np.mgrid[0 : 1 : complex(size), 0 : 1 : complex(size)]
        along = rows * np.cos(np.pi * hue) + columns * np.sin(np.pi * hue)
        wave = np.sin(6 * np.pi * along + random.uniform(0, 2 * np.pi))
        colour = np.cos(2 * np.pi * (hue + np.arange(self.channels) / self.channels))
        image = 128 + 60 * colour + 60 * wave[..., None] + random.normal(scale=20, size=(size, size, self.channels))
        return {**info, 'img': np.clip(image, 0, 255).astype(np.uint8)}
