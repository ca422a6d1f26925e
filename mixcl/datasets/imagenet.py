"""ImageNet-1K as mmpretrain reads it, and 100 of its classes."""

import os
from importlib.resources import files
from pathlib import Path

from mmpretrain.datasets import ImageNet

from mixcl.datasets.split_dataset import SplitDataset
from mixcl.errors import UserError
from mixcl.registry import DATASETS

IMAGE_ENDINGS = ('.jpeg', '.jpg', '.png')


def imagenet_classes(subset: str = 'imagenet') -> list[str]:
    """WordNet ids of the classes in ascending order, as timm ships them.

    Args:
        subset: 'imagenet' (1,000 classes), 'imagenet_a' or 'imagenet_r' (200 of them each).
    """
    return (files('timm') / f'data/_info/{subset}_synsets.txt').read_text().split()


def folders_in(folder: Path) -> list[str]:
    """Sorted names of the folders in a folder, without hidden ones."""
    return sorted(entry.name for entry in os.scandir(folder) if entry.is_dir() and entry.name[0] != '.')


def images_in(folder: Path) -> list[str]:
    """Sorted paths of the images in a folder, without hidden files."""
    paths = (entry.path for entry in os.scandir(folder) if entry.name[0] != '.')
    return sorted(path for path in paths if path.lower().endswith(IMAGE_ENDINGS))


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
        if '://' in self.img_prefix:
            return
        folder = Path(self.img_prefix)
        if not folder.is_dir():
            raise UserError(
                f'ImageNet1K: {folder} is missing; expected under {self.data_root}: train/<wnid>/*.JPEG and '
                'val/<wnid>/*.JPEG; give the right folder with --data-root'
            )
        # Hidden ones too, which the loading takes for classes.
        found = {entry.name for entry in os.scandir(folder) if entry.is_dir()}
        if self.ann_file or found == set(imagenet_classes()):
            return
        strange = sorted(found - set(imagenet_classes()))
        what = f'one called {strange[0]}' if strange else 'no other'
        raise UserError(
            f"ImageNet1K: {folder} must hold a folder for each of ImageNet-1K's 1000 WordNet ids, but it holds "
            f'{len(found) - len(strange)} of them and {what}; sort its images into these folders (or list them with '
            f'their labels in meta/{folder.name}.txt), or give the right folder with --data-root'
        )


@DATASETS.register_module()
class ImageNet100(SplitDataset):
    """100 classes of ImageNet-1K: its folders ``train/<wnid>/*.JPEG`` and ``val/<wnid>/*.JPEG``, and a text file with
    one wnid per line. Papers use different lists; the one of CMC is common.

    Args:
        data_root: ImageNet-1K's folder.
        class_list: the text file; relative to ``data_root`` unless it exists as it is.
        split: 'train' or 'val'.
        **kwargs: as of SplitDataset.

    Raises:
        UserError: if the list or a class folder is missing, or the list does not name 100 different classes.
    """

    LAYOUT = 'train/<wnid>/*.JPEG, val/<wnid>/*.JPEG, and the class list'

    def __init__(self, data_root: str, class_list: str = 'imagenet100.txt', split: str = 'train', **kwargs) -> None:
        self.class_list = class_list
        super().__init__(data_root, split, **kwargs)

    def check_layout(self) -> None:
        """Refuse a class list that is missing or wrong, or a missing folder of a class, without looking for images."""
        self._folders()

    def load_data_list(self) -> list[dict]:
        """One entry per image."""
        folders = self._folders()
        self._metainfo['classes'] = tuple(folder.name for folder in folders)
        return labelled_images(folders)

    def _folders(self) -> list[Path]:
        path = Path(self.class_list)
        path = path if path.is_file() else self.required(self.class_list)
        wnids = sorted(set(path.read_text().split()))
        if len(wnids) != 100:
            raise UserError(f'ImageNet100: {path} names {len(wnids)} different classes, not 100; correct the list')
        return [self.required(self.split, wnid) for wnid in wnids]
