"""PASCAL VOC 2007 for classification: which of 20 classes an image shows, with difficult ones marked."""

from pathlib import Path

import torch
from mmpretrain.datasets import VOC

from mixcl.errors import UserError
from mixcl.registry import DATASETS


@DATASETS.register_module()
class VOC07(VOC):
    """mmpretrain's ``VOC``, whose samples have ``img_path`` and ``present``, (20,) int8: 1 if the class is shown, 0 if
    all its objects are marked difficult, -1 if there are none.

    Arguments same as ``VOC``'s: ``data_root`` is the folder ``VOC2007``; ``split`` is 'train', 'val', 'trainval' (5,011
    images) or 'test' (4,952).

    Source: Everingham et al., The PASCAL Visual Object Classes (VOC) challenge, 2010.
    """

    def check_layout(self) -> None:
        """Refuse a folder that lacks the split's list, without reading annotations."""
        if not Path(self.image_set_path).is_file():
            raise UserError(
                f'VOC07: there is no ImageSets/Main/{self.split}.txt in {self.data_root}; unpack the archives of VOC '
                '2007 (trainval and test), and give their folder VOC2007 with `data_root`'
            )

    def load_data_list(self) -> list[dict]:
        """Return one entry per image, in the order of the official list."""
        self.check_layout()
        images = []
        for image in super().load_data_list():
            present = torch.full((20,), -1, dtype=torch.int8)
            present[image['gt_label_difficult']] = 0
            present[image['gt_label']] = 1  # a class may also have difficult objects
            images.append(dict(img_path=image['img_path'], present=present))
        return images
