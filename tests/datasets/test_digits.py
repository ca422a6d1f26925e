"""scikit-learn's digits as a data set."""

import numpy as np
import pytest
from sklearn.datasets import load_digits

from mixcl.datasets import Digits
from mixcl.errors import UserError


def images_and_labels(split: str) -> tuple[np.ndarray, np.ndarray]:
    dataset = Digits(split=split)
    infos = [dataset.get_data_info(index) for index in range(len(dataset))]
    return np.stack([info['img'] for info in infos]), np.array([info['gt_label'] for info in infos])


def test_the_splits_are_all_digits_in_the_order_of_the_file() -> None:
    parts = [images_and_labels(split) for split in ('train', 'test')]
    assert [len(labels) for _, labels in parts] == [1437, 360]
    images, labels = (np.concatenate(arrays) for arrays in zip(*parts, strict=True))
    digits = load_digits()
    assert (images.dtype, images.shape) == (np.uint8, (1797, 8, 8, 3)) and (images == images[..., :1]).all()
    assert np.array_equal(images[..., 0], np.floor(digits.images * 255 / 16 + 0.5).astype(np.uint8))
    assert np.array_equal(labels, digits.target)


def test_an_unknown_split() -> None:
    with pytest.raises(UserError, match="Digits: split must be 'train' or 'test', not 'val'"):
        Digits(split='val')
