"""PASCAL VOC 2007 for classification: which of 20 classes an image shows, with the difficult ones told apart."""

from pathlib import Path
from xml.etree import ElementTree

import torch
from mmpretrain.datasets import BaseDataset
from mmpretrain.datasets.categories import VOC2007_CATEGORIES

from mixcl.errors import UserError
from mixcl.registry import DATASETS

SPLITS = ('train', 'val', 'trainval', 'test')
PRESENT, DIFFICULT, ABSENT = 1, 0, -1


@DATASETS.register_module()
class VOC07(BaseDataset):
    """The classification task of PASCAL VOC 2007.

    Each sample has ``img_path`` and ``present``, (20,) int8: 1 where the class is shown, 0 where all its objects are
    marked difficult, -1 where there is none. mmpretrain's ``VOC`` reads the same files, but counts difficult objects as
    absent.

    The labels are those of ``ImageSets/Main/<class>_<split>.txt``, the official ones of the task. A class without
    that file gets its labels from the objects in ``Annotations/*.xml``, which are read only then.

    Args:
        data_root: the folder ``VOC2007``, or the one around it or around ``VOCdevkit``.
        split: 'train', 'val', 'trainval' (5,011 images) or 'test' (4,952).
        **kwargs: of mmpretrain's BaseDataset, for example ``pipeline``.

    Raises:
        UserError: if a part of the layout is missing or cannot be read.

    Source: Everingham et al., The PASCAL Visual Object Classes (VOC) challenge, 2010.
    """

    METAINFO = {'classes': VOC2007_CATEGORIES}  # noqa: RUF012 (mmengine's name and form)

    def __init__(self, data_root: str, split: str = 'trainval', **kwargs) -> None:
        if split not in SPLITS:
            raise UserError(f'VOC07: split must be one of {", ".join(SPLITS)}, not {split!r}')
        self.split = split
        super().__init__(ann_file='', data_root=data_root, **kwargs)

    def check_layout(self) -> None:
        """Refuse a folder without the list of the split, without reading annotations."""
        _development_kit(Path(self.data_root).expanduser(), self.split)

    def presence(self) -> torch.Tensor:
        """Which classes all images show, (N, 20) int8 as ``present`` of the samples; no image is read."""
        return torch.stack([self.get_data_info(number)['present'] for number in range(len(self))])

    def load_data_list(self) -> list[dict]:
        """One entry per image, in the order of the official list."""
        folder = _development_kit(Path(self.data_root).expanduser(), self.split)
        sets = folder / 'ImageSets/Main'
        names = _lines(sets / f'{self.split}.txt')
        classes = self._metainfo['classes']
        official = {name: path for name in classes if (path := sets / f'{name}_{self.split}.txt').is_file()}
        objects = {} if len(official) == len(classes) else _read_objects(folder / 'Annotations', names)
        columns = [
            _official_labels(official[name], names)
            if name in official
            else [objects[image].get(name, ABSENT) for image in names]
            for name in classes
        ]
        present = torch.tensor(columns, dtype=torch.int8).T.contiguous()
        return [
            dict(img_path=str(folder / 'JPEGImages' / f'{image}.jpg'), present=labels.clone())
            for image, labels in zip(names, present, strict=True)
        ]


def _development_kit(root: Path, split: str) -> Path:
    for folder in (root, root / 'VOC2007', root / 'VOCdevkit/VOC2007'):
        if (folder / f'ImageSets/Main/{split}.txt').is_file():
            return folder
    raise UserError(
        f'VOC07: there is no ImageSets/Main/{split}.txt in {root}, {root}/VOC2007 or {root}/VOCdevkit/VOC2007; unpack '
        'the archives of VOC 2007 (trainval and test) there, or give the right folder with --data-root'
    )


def _lines(path: Path) -> list[str]:
    return path.read_text().split()


def _official_labels(path: Path, names: list[str]) -> list[int]:
    """Labels of one class, in the order of ``names``, from lines of an image's name and 1, 0 or -1."""
    values = _lines(path)
    labels = dict(zip(values[::2], values[1::2], strict=False))
    for name in names:
        if labels.get(name) not in ('1', '0', '-1'):
            raise UserError(
                f'VOC07: {path} should give the image {name} a label of 1, 0 or -1, not {labels.get(name)}; '
                'unpack the archive again'
            )
    return [int(labels[name]) for name in names]


def _read_objects(folder: Path, names: list[str]) -> dict[str, dict[str, int]]:
    """By image, the classes of its objects: 1, or 0 where all of a class are difficult."""
    return {name: _classes_of_objects(folder / f'{name}.xml') for name in names}


def _classes_of_objects(path: Path) -> dict[str, int]:
    try:
        objects = ElementTree.parse(path).getroot().findall('object')
        labels: dict[str, int] = {}
        for item in objects:
            name = item.findtext('name', '').strip()
            label = DIFFICULT if item.findtext('difficult', '0').strip() == '1' else PRESENT
            labels[name] = max(label, labels.get(name, DIFFICULT))
    except (OSError, ElementTree.ParseError) as error:
        raise UserError(f'VOC07: the annotation {path} cannot be read ({error}); unpack the archive again') from error
    return labels
