"""Small colourful images that need no files."""

import numpy as np
from mmpretrain.datasets import BaseDataset

from mixcl.registry import DATASETS


@DATASETS.register_module()
class SyntheticImages(BaseDataset):
    """Stripes whose direction and colour tell the class, with noise; an image is a function of its index.

    Each sample has ``img``, uint8 (image_size, image_size, 3) in BGR order, and ``gt_label``, the index modulo
    ``num_classes``. Images are drawn when they are asked for.

    Args:
        num_images: how many, at least 1.
        image_size: their side in pixels.
        num_classes: how many patterns.
        **kwargs: of mmpretrain's BaseDataset, for example ``pipeline``.
    """

    def __init__(self, num_images: int, image_size: int, num_classes: int = 4, **kwargs) -> None:
        self.num_images = num_images
        self.image_size = image_size
        self.num_classes = num_classes
        classes = tuple(f'pattern {number}' for number in range(num_classes))
        super().__init__(ann_file='', metainfo={'classes': classes}, **kwargs)

    def load_data_list(self) -> list[dict]:
        """The labels alone."""
        return [{'gt_label': index % self.num_classes} for index in range(self.num_images)]

    def get_data_info(self, idx: int) -> dict:
        """The label and the image."""
        info = super().get_data_info(idx)
        return {**info, 'img': draw_stripes(info['sample_idx'], info['gt_label'] / self.num_classes, self.image_size)}


def draw_stripes(index: int, hue: float, image_size: int) -> np.ndarray:
    """Stripes with noise.

    Args:
        index: what phase and noise are a function of.
        hue: in [0, 1), turns the direction by half a circle and goes through the colours.
        image_size: the side in pixels.

    Returns:
        uint8 (image_size, image_size, 3).
    """
    random = np.random.default_rng(index)
    rows, columns = np.mgrid[0 : 1 : complex(image_size), 0 : 1 : complex(image_size)]
    along = rows * np.cos(np.pi * hue) + columns * np.sin(np.pi * hue)
    wave = np.sin(6 * np.pi * along + random.uniform(0, 2 * np.pi))
    colour = np.cos(2 * np.pi * (hue + np.arange(3) / 3))
    noise = random.normal(scale=20, size=(image_size, image_size, 3))
    return np.clip(128 + 60 * colour + 60 * wave[..., None] + noise, 0, 255).astype(np.uint8)
