"""ImageNet-1K as mmpretrain reads it, 100 of its classes, and TinyImageNet."""

import os
from importlib.resources import files
from pathlib import Path
from typing import Any

from mmpretrain.datasets import ImageNet

from mixcl.datasets.split_dataset import SplitDataset
from mixcl.datasets.transforms.decoding import MAX_BYTES
from mixcl.errors import UserError, printable
from mixcl.files import read_regular
from mixcl.registry import DATASETS


def imagenet_classes(subset: str = 'imagenet') -> list[str]:
    """WordNet ids of the classes in ascending order, as timm ships them.

    Args:
        subset: 'imagenet' (1,000 classes), 'imagenet_a' or 'imagenet_r' (200 of them each).
    """
    return (files('timm') / f'data/_info/{subset}_synsets.txt').read_text().split()


def check_class_folders(name: str, folder: Path, found: list[str], expected: list[str]) -> None:
    """Raise :class:`UserError` unless the folders found are those of the classes."""
    odd = sorted(set(found) ^ set(expected))
    if odd:
        raise UserError(
            f'{name}: {folder} should hold a folder for each of its {len(expected)} classes, but has {len(found)} '
            f'folders, and {len(odd)} names are missing or of no class, such as {printable(odd[0])}; sort the images '
            'into folders named by WordNet ids, or give the right folder with --data-root; for the classes that there '
            f'are, --data folder:{folder.parent}'
        )


def folders_in(folder: Path) -> list[str]:
    """Sorted names of the folders in a folder, without hidden ones."""
    return sorted(entry.name for entry in os.scandir(folder) if entry.is_dir() and entry.name[0] != '.')


def images_in(folder: Path) -> list[str]:
    """Sorted paths of the images in a folder, without hidden files."""
    paths = (entry.path for entry in os.scandir(folder) if entry.name[0] != '.')
    return sorted(path for path in paths if path.lower().endswith(('.jpeg', '.jpg', '.png')))


def labelled_images(folders: list[Path]) -> list[dict]:
    """One entry per image in the folders; the place of a folder in the list is the label."""
    return [dict(img_path=path, gt_label=label) for label, folder in enumerate(folders) for path in images_in(folder)]


@DATASETS.register_module()
class ImageNet1K(ImageNet):
    """``train/<wnid>/*.JPEG`` and ``val/<wnid>/*.JPEG``, or images listed with labels in ``meta/<split>.txt``.

    Arguments are those of mmpretrain's ``ImageNet``.
    """

    def check_layout(self) -> None:
        """Refuse a folder without the split or, where no list names the images, of other classes.

        No images are looked for; addresses (``s3://...``) are left to the loading.

        Raises:
            UserError: what is missing.
        """
        folder = Path(self.img_prefix)
        if '://' in self.img_prefix or (self.ann_file and folder.is_dir()):
            return
        if not folder.is_dir():
            raise UserError(
                f'ImageNet1K: {folder} is missing; expected under {self.data_root}: train/<wnid>/*.JPEG and '
                'val/<wnid>/*.JPEG; give the right folder with --data-root'
            )
        # Hidden ones too, which the loading takes for classes.
        found = [entry.name for entry in os.scandir(folder) if entry.is_dir()]
        check_class_folders('ImageNet1K', folder, found, imagenet_classes())


@DATASETS.register_module()
class ImageNet100(SplitDataset):
    """100 classes of ImageNet-1K: its folders ``train/<wnid>/*.JPEG`` and ``val/<wnid>/*.JPEG``, and a text file with
    one wnid per line. Papers use different lists; the one of CMC is common.

    Args:
        data_root: ImageNet-1K's folder.
        class_list: the text file; relative to ``data_root`` unless it exists as it is.
        **kwargs: same as SplitDataset's; ``split`` is 'train' or 'val'.

    Raises:
        UserError: if the list or a class folder is missing, or the list does not name 100 different classes.
    """

    LAYOUT = 'train/<wnid>/*.JPEG, val/<wnid>/*.JPEG, and the class list'

    def __init__(self, data_root: str, class_list: str = 'imagenet100.txt', **kwargs: Any) -> None:
        self.class_list = class_list
        super().__init__(data_root, **kwargs)

    def check_layout(self) -> list[Path]:
        """The folders of the classes, or an error if the list or a folder is missing; no images are looked for."""
        path = Path(self.class_list)
        path = path if path.is_file() else self.required(self.class_list)
        wnids = sorted(set(read_regular(path, MAX_BYTES).decode().split()))
        if len(wnids) != 100:
            raise UserError(f'ImageNet100: {path} names {len(wnids)} different classes, not 100; correct the list')
        return [self.required(self.split, wnid) for wnid in wnids]

    def load_data_list(self) -> list[dict]:
        folders = self.check_layout()
        self._metainfo['classes'] = tuple(folder.name for folder in folders)
        return labelled_images(folders)


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
        lines = read_regular(self.required('val/val_annotations.txt'), MAX_BYTES).decode().splitlines()
        return [
            dict(img_path=str(images / name), gt_label=wnids.index(wnid))
            for name, wnid, *_ in (line.split('\t') for line in lines)
        ]
