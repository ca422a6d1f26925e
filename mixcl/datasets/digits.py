"""The handwritten digits that come with scikit-learn: real images without a download."""

import numpy as np

from mixcl.datasets.split_dataset import SplitDataset
from mixcl.registry import DATASETS

NUM_TRAIN = 1437


@DATASETS.register_module()
class Digits(SplitDataset):
    """1,797 images of digits, 8x8, grey repeated over three channels: 1,437 to train on, 360 to test on.

    Each sample has ``img``, uint8 (8, 8, 3), and ``gt_label``, 0 to 9. The test images are the last of the file.
    Neighbours in the file look alike, so raw pixels (1-NN) classify a random part better (99 %) than these (95 %).

    Source: E. Alpaydin and C. Kaynak, Optical Recognition of Handwritten Digits (test part), UCI repository.
    """

    METAINFO = {'classes': tuple(str(digit) for digit in range(10))}  # noqa: RUF012 (mmengine's name and form)
    SPLITS = ('train', 'test')

    def load_data_list(self) -> list[dict]:
        from sklearn.datasets import load_digits  # takes seconds

        digits = load_digits()
        images = np.round(digits.images * (255 / 16)).astype(np.uint8)
        rows = range(NUM_TRAIN) if self.split == 'train' else range(NUM_TRAIN, len(images))
        return [
            {'img': np.repeat(images[index][..., None], 3, axis=2), 'gt_label': int(digits.target[index])}
            for index in rows
        ]
