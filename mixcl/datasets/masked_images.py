"""Images with a mask of classes each: PASCAL VOC 2012's segmentation, and people's own."""

import os
from collections.abc import Iterator
from hashlib import blake2b
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import numpy as np
from mmpretrain.datasets.categories import VOC2007_CATEGORIES

from mixcl.datasets.folder import images_below
from mixcl.datasets.own_images import drawn_to_test, parts_by_name
from mixcl.datasets.split_dataset import SplitDataset
from mixcl.datasets.transforms.masks import NO_CLASS, mask_of
from mixcl.errors import UserError
from mixcl.registry import DATASETS

FOLDERS = ('images', 'masks')


class MaskedImages(SplitDataset):
    """Images of which each has a mask; samples have ``img_path``, ``mask_path`` and ``num_classes``."""

    SPLITS: tuple[str, ...] = ('train', 'test')

    def pairs(self, split: str) -> Iterator[tuple[Path, Path]]:
        """Yield the files of each image of a split and of its mask, in order."""
        raise NotImplementedError

    def check_layout(self) -> None:
        """Refuse a folder that lacks an image or a mask, before anything expensive."""
        self._found(self.split)

    def _found(self, split: str) -> list[tuple[Path, Path]]:
        """Return the pairs of a split, if they exist."""
        pairs = [*self.pairs(split)]
        for pair in pairs:
            if missing := [path for path in pair if not path.is_file()]:
                raise UserError(
                    f'{type(self).__name__}: {missing[0]} is missing; expected under {self.data_root}: {self.LAYOUT}; '
                    'give the right folder, or remove what has no mask'
                )
        return pairs

    def load_data_list(self) -> list[dict]:
        classes = len(self.metainfo['classes'])
        return [
            dict(img_path=str(image), mask_path=str(mask), num_classes=classes)
            for image, mask in self._found(self.split)
        ]


@DATASETS.register_module()
class VOC12Segmentation(MaskedImages):
    """PASCAL VOC 2012's segmentation: 1,464 images to train on and 1,449 to validate, 20 classes and background (0).

    ``data_root`` is the folder ``VOC2012`` of the archive. Borders of objects have no class (255).

    Source: Everingham et al., The PASCAL Visual Object Classes challenge: a retrospective, 2015.
    """

    SPLITS = ('train', 'val', 'trainval')
    LAYOUT = 'JPEGImages/, SegmentationClass/ and ImageSets/Segmentation/, as in the archive of VOC 2012'
    METAINFO: ClassVar[dict] = dict(classes=('background', *VOC2007_CATEGORIES))

    def pairs(self, split: str) -> Iterator[tuple[Path, Path]]:
        listed = self.required('ImageSets', 'Segmentation', f'{split}.txt').read_text().split()
        root = Path(self.data_root)
        for name in listed:
            yield root / f'JPEGImages/{name}.jpg', root / f'SegmentationClass/{name}.png'


class Masks(NamedTuple):
    """What :meth:`MaskedFolder.survey` counts: classes, images to learn from and to test on, a digest of the masks."""

    classes: int
    train: int
    test: int
    digest: str


@DATASETS.register_module()
class MaskedFolder(MaskedImages):
    """A folder with ``images/`` and ``masks/``: the mask of ``images/a/b.jpg`` is ``masks/a/b.png``.

    A mask has one grey level for each class: 0, 1, 2, ...; 255 is no class. ``images/train`` and ``images/val`` give
    the split; else about a fifth of the images is held out, chosen by their names.

    Args:
        classes: number of classes; by default the levels of all masks are read.
    """

    LAYOUT = 'images/ and, for each image there, a PNG of the same name in masks/'

    def __init__(self, data_root: str = '', classes: int | None = None, **kwargs: Any) -> None:
        self.classes = classes
        super().__init__(data_root, **kwargs)

    def pairs(self, split: str) -> Iterator[tuple[Path, Path]]:
        names = images_below(str(self.required('images')))
        given = parts_by_name({name.partition(os.sep)[0] for name in names if os.sep in name})
        drawn = np.where(drawn_to_test(names, np.zeros(len(names), dtype=int)), 'test', 'train').tolist()
        for name, part in zip(names, drawn, strict=True):
            if (given.get(name.partition(os.sep)[0], 'extra') if any(given.values()) else part) == split:
                image, mask = (Path(self.data_root, folder, name) for folder in FOLDERS)
                yield image, mask.with_suffix('.png')

    def survey(self) -> Masks:
        """Read all masks.

        Raises:
            UserError: if one is missing or is no mask, or they show one class alone.
        """
        counts, levels, digest = {}, np.zeros(NO_CLASS + 1, dtype=bool), blake2b(digest_size=4)
        for split in self.SPLITS:
            pairs = self._found(split)
            counts[split] = len(pairs)
            for _, path in pairs:
                mask = mask_of(path)
                levels[mask] = True
                digest.update(mask.tobytes())
        found = np.flatnonzero(levels[:NO_CLASS]).tolist()
        if len(found) < 2 or not all(counts.values()):
            raise UserError(
                f'{self.data_root}: its masks have the grey level(s) {", ".join(map(str, found)) or "255"}, {counts} '
                'images; write classes as 0, 1, 2, ... (255 is no class), with two or more images'
            )
        return Masks(found[-1] + 1, counts['train'], counts['test'], digest.hexdigest())

    def load_data_list(self) -> list[dict]:
        classes = self.classes or MaskedFolder(self.data_root, lazy_init=True).survey().classes
        self._metainfo['classes'] = tuple(map(str, range(classes)))
        return super().load_data_list()
