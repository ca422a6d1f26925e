"""PASCAL VOC 2007 for classification: which of 20 classes an image shows, with the difficult ones told apart."""

from pathlib import Path
from xml.etree import ElementTree

import torch
from mmpretrain.datasets import VOC

from mixcl.errors import UserError
from mixcl.registry import DATASETS


@DATASETS.register_module()
class VOC07(VOC):
    """mmpretrain's ``VOC``, whose samples have ``img_path`` and ``present``, (20,) int8: 1 where the class is shown, 0
    where all its objects are marked difficult, -1 where there is none.

    Args:
        data_root: the folder ``VOC2007``, or the one around it or around ``VOCdevkit``.
        split: 'train', 'val', 'trainval' (5,011 images) or 'test' (4,952).
        **kwargs: of ``VOC``, for example ``pipeline``.

    Raises:
        UserError: if the list of the split is missing, or an annotation cannot be read.

    Source: Everingham et al., The PASCAL Visual Object Classes (VOC) challenge, 2010.
    """

    def __init__(self, data_root: str, split: str = 'trainval', **kwargs) -> None:
        root = Path(data_root).expanduser()
        places = (root, root / 'VOC2007', root / 'VOCdevkit/VOC2007')
        found = [place for place in places if (place / f'ImageSets/Main/{split}.txt').is_file()]
        super().__init__(str([*found, root][0]), split, **kwargs)

    def check_layout(self) -> None:
        """Refuse a folder without the list of the split, without reading annotations."""
        if not Path(self.image_set_path).is_file():
            raise UserError(
                f'VOC07: there is no ImageSets/Main/{self.split}.txt in {self.data_root}, nor below VOC2007 or '
                'VOCdevkit/VOC2007 in it; unpack the archives of VOC 2007 (trainval and test) there, or give the right '
                'folder with --data-root'
            )

    def load_data_list(self) -> list[dict]:
        """One entry per image, in the order of the official list."""
        self.check_layout()
        return [
            dict(img_path=image['img_path'], present=_presence(image['gt_label'], image['gt_label_difficult']))
            for image in super().load_data_list()
        ]

    def _get_labels_from_xml(self, img_id: str) -> tuple[list[int], list[int]]:
        try:
            return super()._get_labels_from_xml(img_id)
        except (OSError, ElementTree.ParseError) as error:
            path = Path(self.ann_prefix, f'{img_id}.xml')
            raise UserError(
                f'VOC07: the annotation {path} cannot be read ({error}); unpack the archive again'
            ) from error


def _presence(shown: list[int], difficult: list[int]) -> torch.Tensor:
    present = torch.full((20,), -1, dtype=torch.int8)
    present[difficult] = 0
    present[shown] = 1  # a class may have difficult objects beside others
    return present
