"""Images that are drawn, not read."""

import numpy as np

from mixcl.datasets import SyntheticImages


def test_images_are_functions_of_the_index() -> None:
    small, large = (SyntheticImages(num_images=number, image_size=12, num_classes=3) for number in (4, 8))
    for index in range(4):
        assert np.array_equal(small.get_data_info(index)['img'], large.get_data_info(index)['img'])
    assert np.array_equal(large.get_data_info(-1)['img'], large.get_data_info(7)['img'])


def test_images_differ_and_have_their_labels() -> None:
    dataset = SyntheticImages(num_images=10, image_size=12, num_classes=3)
    infos = [dataset.get_data_info(index) for index in range(10)]
    assert all(info['img'].shape == (12, 12, 3) and info['img'].dtype == np.uint8 for info in infos)
    assert len({info['img'].tobytes() for info in infos}) == 10
    assert [info['gt_label'] for info in infos] == [0, 1, 2, 0, 1, 2, 0, 1, 2, 0]
    assert len(dataset.metainfo['classes']) == 3


def test_images_are_colourful_and_classes_look_different() -> None:
    dataset = SyntheticImages(num_images=40, image_size=16)
    images = np.stack([dataset.get_data_info(index)['img'] for index in range(40)]).astype(float)
    assert images.std() > 20
    assert np.abs(images[..., 0] - images[..., 2]).mean() > 10
    colours = images.mean(axis=(1, 2))
    classes = np.arange(40) % 4
    centres = np.stack([colours[classes == number].mean(axis=0) for number in range(4)])
    nearest = np.linalg.norm(colours[:, None] - centres, axis=-1).argmin(axis=1)
    assert (nearest == classes).all()
