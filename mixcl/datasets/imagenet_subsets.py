"""TinyImageNet and ImageNet-100, from the folders that they are distributed in."""

import os
from pathlib import Path

from mmpretrain.datasets import BaseDataset

from mixcl.errors import UserError
from mixcl.registry import DATASETS

IMAGE_ENDINGS = ('.jpeg', '.jpg', '.png')


def _images_in(folder: Path, label: int) -> list[dict]:
    names = sorted(entry.name for entry in os.scandir(folder) if entry.name.lower().endswith(IMAGE_ENDINGS))
    return [dict(img_path=str(folder / name), gt_label=label) for name in names]


class _ClassFolders(BaseDataset):
    """Reads one folder per class; the classes are sorted WordNet ids."""

    def __init__(self, data_root: str, split: str = 'train', **kwargs) -> None:
        if split not in ('train', 'val'):
            raise UserError(f"{type(self).__name__}: split must be 'train' or 'val', not {split!r}")
        self.split = split
        super().__init__(ann_file='', data_root=data_root, **kwargs)

    def _require(self, path: Path, layout: str) -> Path:
        if not path.exists():
            raise UserError(
                f'{type(self).__name__}: {path} is missing; expected under {self.data_root}: {layout}; give the right '
                'folder with --data-root'
            )
        return path


@DATASETS.register_module()
class TinyImageNet(_ClassFolders):
    """The 200 classes of 64x64 images, as in the archive: ``train/<wnid>/images/*.JPEG``, ``val/images/*.JPEG`` and
    ``val/val_annotations.txt`` (file name, wnid, box).

    Args:
        data_root: the unpacked folder.
        split: 'train' (100,000 images) or 'val' (10,000).
        **kwargs: of mmpretrain's ``BaseDataset``, for example ``pipeline``.

    Raises:
        UserError: if a part of the layout is missing, or the annotations name an unknown class.
    """

    LAYOUT = 'train/<wnid>/images/*.JPEG, val/images/*.JPEG, val/val_annotations.txt'

    def check_layout(self) -> None:
        """Refuse a folder that lacks a part, without looking for images."""
        for part in ('train', 'val/images', 'val/val_annotations.txt'):
            self._require(Path(self.data_root) / part, self.LAYOUT)

    def load_data_list(self) -> list[dict]:
        root = Path(self.data_root)
        train = self._require(root / 'train', self.LAYOUT)
        wnids = sorted(entry.name for entry in os.scandir(train) if entry.is_dir())
        self._metainfo['classes'] = tuple(wnids)
        if self.split == 'val':
            return self._validation_images(root, wnids)
        folders = [self._require(train / wnid / 'images', self.LAYOUT) for wnid in wnids]
        return [image for label, folder in enumerate(folders) for image in _images_in(folder, label)]

    def _validation_images(self, root: Path, wnids: list[str]) -> list[dict]:
        annotations = self._require(root / 'val/val_annotations.txt', self.LAYOUT)
        labels = {wnid: label for label, wnid in enumerate(wnids)}
        images = []
        for number, line in enumerate(annotations.read_text().splitlines(), start=1):
            name, wnid = [*line.split('\t'), ''][:2]
            if wnid not in labels:
                raise UserError(
                    f'TinyImageNet: line {number} of {annotations} names the class {wnid!r}, which has no folder in '
                    f'{root / "train"}'
                )
            images.append(dict(img_path=str(root / 'val/images' / name), gt_label=labels[wnid]))
        return images


@DATASETS.register_module()
class ImageNet100(_ClassFolders):
    """100 classes of ImageNet-1K: its folders ``train/<wnid>/*.JPEG`` and ``val/<wnid>/*.JPEG``, and a text file with
    one wnid per line. Papers use different lists; the one of CMC is common.

    Args:
        data_root: ImageNet-1K's folder.
        class_list: the text file; relative to ``data_root`` unless it exists as it is.
        split: 'train' or 'val'.
        **kwargs: of mmpretrain's ``BaseDataset``, for example ``pipeline``.

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
        folders = self._folders()
        self._metainfo['classes'] = tuple(folder.name for folder in folders)
        return [image for label, folder in enumerate(folders) for image in _images_in(folder, label)]

    def _folders(self) -> list[Path]:
        path = Path(self.class_list)
        path = path if path.is_file() else Path(self.data_root) / path
        wnids = sorted(set(self._require(path, self.LAYOUT).read_text().split()))
        if len(wnids) != 100:
            raise UserError(f'ImageNet100: {path} names {len(wnids)} different classes, not 100')
        return [self._require(Path(self.data_root) / self.split / wnid, self.LAYOUT) for wnid in wnids]
