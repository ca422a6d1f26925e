"""TinyImageNet, from the folder that it is distributed in."""

from pathlib import Path

from mixcl.datasets.imagenet import folders_in, labelled_images
from mixcl.datasets.split_dataset import SplitDataset
from mixcl.errors import UserError
from mixcl.registry import DATASETS


@DATASETS.register_module()
class TinyImageNet(SplitDataset):
    """200 classes of 64x64 images, 100,000 to train on and 10,000 to validate on, from the unpacked archive.

    Arguments as of SplitDataset; ``split`` is 'train' or 'val'.

    Raises:
        UserError: if a part of the layout is missing, or the annotations name an unknown class.
    """

    LAYOUT = 'train/<wnid>/images/*.JPEG, val/images/*.JPEG, val/val_annotations.txt'

    def check_layout(self) -> None:
        """Refuse a folder that lacks a part, without looking for images."""
        for part in ('train', 'val/images', 'val/val_annotations.txt'):
            self.required(part)

    def load_data_list(self) -> list[dict]:
        """One entry per image; labels are the places of the sorted WordNet ids."""
        wnids = folders_in(self.required('train'))
        self._metainfo['classes'] = tuple(wnids)
        if self.split == 'val':
            return self._validation_images({wnid: label for label, wnid in enumerate(wnids)})
        return labelled_images([self.required('train', wnid, 'images') for wnid in wnids])

    def _validation_images(self, labels: dict[str, int]) -> list[dict]:
        annotations = self.required('val/val_annotations.txt')  # file name, wnid, box
        images = []
        for number, line in enumerate(annotations.read_text().splitlines(), start=1):
            name, wnid = [*line.split('\t'), ''][:2]
            if wnid not in labels:
                raise UserError(
                    f'TinyImageNet: line {number} of {annotations} names the class {wnid!r}, which has no folder in '
                    f'{self.data_root}/train; unpack the archive again'
                )
            images.append(dict(img_path=str(Path(self.data_root, 'val/images', name)), gt_label=labels[wnid]))
        return images
