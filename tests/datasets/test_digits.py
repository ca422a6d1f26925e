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


def test_the_two_splits_are_all_digits_once_and_stratified() -> None:
    parts = [images_and_labels(split) for split in ('train', 'test')]
    assert [len(labels) for _, labels in parts] == [1437, 360]
    images, labels = (np.concatenate(arrays) for arrays in zip(*parts, strict=True))
    digits = load_digits()
    expected = np.floor(digits.images * 255 / 16 + 0.5).astype(np.uint8)
    assert (images.dtype, images.shape) == (np.uint8, (1797, 8, 8, 3)) and (images == images[..., :1]).all()
    found, wanted = ([tuple(row) for row in np.c_[label, image.reshape(1797, 64)].tolist()] for label, image in (
        (labels, images[..., 0]), (digits.target, expected)
    ))  # fmt: skip
    assert sorted(found) == sorted(wanted)
    shares = np.bincount(parts[1][1]) / np.bincount(digits.target)
    assert np.abs(shares - 0.2).max() < 0.01
    assert np.array_equal(parts[1][0], images_and_labels('test')[0]), 'always the same split'


def test_an_unknown_split() -> None:
    with pytest.raises(UserError, match="Digits: split must be 'train' or 'test', not 'val'"):
        Digits(split='val')
