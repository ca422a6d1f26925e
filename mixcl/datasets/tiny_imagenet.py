"""TinyImageNet, from the folder that it is distributed in."""

from pathlib import Path

from mixcl.datasets.imagenet import folders_in, labelled_images
from mixcl.datasets.split_dataset import SplitDataset
from mixcl.registry import DATASETS


@DATASETS.register_module()
class TinyImageNet(SplitDataset):
    """200 classes of 64x64 images, 100,000 to train on and 10,000 to validate on, from the unpacked archive.

    Arguments same as SplitDataset's; ``split`` is 'train' or 'val'.

    Raises:
        UserError: if a part of the layout is missing.
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
        if self.split == 'train':
            return labelled_images([self.required('train', wnid, 'images') for wnid in wnids])
        images = Path(self.data_root, 'val/images')
        # Each line has the name of a file, its class, and a box.
        lines = self.required('val/val_annotations.txt').read_text().splitlines()
        return [
            dict(img_path=str(images / name), gt_label=wnids.index(wnid))
            for name, wnid, *_ in (line.split('\t') for line in lines)
        ]
