"""ImageNet-1K, 100 of its classes, and TinyImageNet."""

from collections.abc import Iterable
from importlib.resources import files
from pathlib import Path
from typing import Any

from mmpretrain.datasets import ImageNet

from mixcl.datasets.folder import images_below
from mixcl.datasets.split_dataset import SplitDataset
from mixcl.datasets.transforms.decoding import MAX_BYTES
from mixcl.errors import UserError, printable
from mixcl.files import read_regular
from mixcl.registry import DATASETS


def imagenet_classes(subset: str = 'imagenet') -> list[str]:
    """Return the classes' WordNet ids in ascending order, as timm ships them: 1,000 for 'imagenet', 200 each for
    'imagenet_a' and 'imagenet_r'."""
    return (files('timm') / f'data/_info/{subset}_synsets.txt').read_text().split()


def labelled_images(folders: Iterable[tuple[int, Path]]) -> list[dict]:
    """Return one entry per image below folders, given as (label, folder)."""
    return [
        dict(img_path=f'{folder}/{name}', gt_label=label)
        for label, folder in folders
        for name in images_below(str(folder))
    ]


class ClassFolders(SplitDataset):
    """Images of some of ImageNet's classes, in a folder per class; other folders are ignored."""

    def class_folders(self) -> list[Path]:
        """Return the folder of each class, in the order of the labels; raise UserError if one is missing."""
        raise NotImplementedError

    def check_layout(self) -> None:
        """Refuse a folder that lacks a class, without looking for images."""
        self.class_folders()

    def load_data_list(self) -> list[dict]:
        folders = self.class_folders()
        self._metainfo['classes'] = tuple(folder.name for folder in folders)
        return labelled_images(enumerate(folders))


@DATASETS.register_module()
class ImageNet1K(ImageNet):
    """mmpretrain's ``ImageNet``, same arguments, for ``train/<wnid>/*.JPEG`` and ``val/<wnid>/*.JPEG``, or for images
    listed with labels in ``meta/<split>.txt``.
    """

    def check_layout(self) -> None:
        """Refuse a folder of other classes, unless a list names the images; URLs are left to the loading."""
        if self.ann_file or '://' in self.img_prefix:
            return
        folder = Path(self.img_prefix)
        # Hidden folders too, since the loading takes them for classes.
        found = {path.name for path in folder.iterdir() if path.is_dir()} if folder.is_dir() else set()
        if odd := found ^ set(imagenet_classes()):
            raise UserError(
                f'ImageNet1K: {folder} should hold a folder <wnid> for each of 1,000 classes, but {len(odd)} are '
                f'missing or of no class, such as {printable(min(odd))}; give the folder of train/ and val/ with '
                f'`data_root`, or, for fewer classes, `data=folder:{folder.parent}`'
            )


@DATASETS.register_module()
class ImageNet100(ClassFolders):
    """100 classes of ImageNet-1K: its folders ``train/<wnid>/*.JPEG`` and ``val/<wnid>/*.JPEG``, and a text file with
    one wnid per line. Papers use different lists; CMC's is common.

    Args:
        data_root: ImageNet-1K's folder.
        class_list: the text file; relative to ``data_root`` unless it exists as given.
        **kwargs: same as SplitDataset's; ``split`` is 'train' or 'val'.

    Raises:
        UserError: if the list is missing, or does not name 100 different classes.
    """

    LAYOUT = 'train/<wnid>/*.JPEG, val/<wnid>/*.JPEG, and the class list'

    def __init__(self, data_root: str, class_list: str = 'imagenet100.txt', **kwargs: Any) -> None:
        self.class_list = class_list
        super().__init__(data_root, **kwargs)

    def class_folders(self) -> list[Path]:
        """Return the listed classes' folders, sorted by name."""
        path = Path(self.class_list)
        path = path if path.is_file() else self.required(self.class_list)
        wnids = sorted(set(read_regular(path, MAX_BYTES).decode().split()))
        if len(wnids) != 100:
            raise UserError(f'ImageNet100: {path} names {len(wnids)} different classes, not 100; correct the list')
        return [self.required(self.split, wnid) for wnid in wnids]


@DATASETS.register_module()
class TinyImageNet(ClassFolders):
    """200 classes of 64x64 images, 100,000 to train on and 10,000 to validate on, from the unpacked archive.

    Arguments same as SplitDataset's; ``split`` is 'train' or 'val'.
    """

    LAYOUT = 'train/<wnid>/images/*.JPEG, val/images/*.JPEG, val/val_annotations.txt'

    def class_folders(self) -> list[Path]:
        """Return the folders of training images; their order numbers the classes of both splits."""
        train, *_ = map(self.required, ('train', 'val/images', 'val/val_annotations.txt'))
        return sorted(path for path in train.iterdir() if path.is_dir() and path.name[0] != '.')

    def load_data_list(self) -> list[dict]:
        if self.split == 'train':
            return super().load_data_list()
        wnids = self._metainfo['classes'] = tuple(folder.name for folder in self.class_folders())
        val = Path(self.data_root, 'val')
        # Each line has a file name, its class, and a box.
        lines = read_regular(val / 'val_annotations.txt', MAX_BYTES).decode().splitlines()
        return [
            dict(img_path=f'{val}/images/{name}', gt_label=wnids.index(wnid))
            for name, wnid, *_ in (line.split('\t') for line in lines)
        ]
