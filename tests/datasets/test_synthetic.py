"""Images that are drawn, not read."""

import numpy as np

from mixcl.datasets import SyntheticImages


def test_images_are_functions_of_the_index_and_classes_look_different() -> None:
    small, large = (SyntheticImages(num_images=number, image_size=12) for number in (5, 40))
    infos = [large.get_data_info(index) for index in range(40)]
    assert [info['gt_label'] for info in infos] == [0, 1, 2, 3] * 10
    images = np.stack([info['img'] for info in infos])
    assert (images.dtype, images.shape) == (np.uint8, (40, 12, 12, 3))
    assert len({image.tobytes() for image in images}) == 40
    assert all(np.array_equal(small.get_data_info(index)['img'], images[index]) for index in range(5))
    colours, classes = images.mean(axis=(1, 2)), np.arange(40) % 4
    centres = np.stack([colours[classes == number].mean(axis=0) for number in range(4)])
    nearest = np.linalg.norm(colours[:, None] - centres, axis=-1).argmin(axis=1)
    assert (nearest == classes).all()
