"""mmdet's COCO and VOC data sets, with a look at annotations and images before training starts."""

import os
from collections.abc import Iterable, Sequence
from pathlib import Path

from mmdet.datasets import CocoDataset, VOCDataset
from mmdet.datasets.api_wrappers import COCO

from mixcl.errors import UserError
from mixcl.registry import DATASETS


class _CompleteCOCO(COCO):
    """mmdet's annotations, which here have to know every class that is asked for."""

    def __init__(self, annotation_file: str) -> None:
        self.source = annotation_file
        super().__init__(annotation_file)

    def get_cat_ids(self, cat_names: Sequence[str] = (), **kwargs) -> list[int]:
        present = {category['name'] for category in self.cats.values()}
        absent = [name for name in cat_names if name not in present]
        if absent:
            raise UserError(
                f'the annotation file {self.source} lacks {len(absent)} of the {len(cat_names)} classes that the '
                f'config names, for example {absent[0]!r}; list its own under dataset.metainfo.classes and set '
                'num_classes of the heads'
            )
        return super().get_cat_ids(cat_names=cat_names, **kwargs)


@DATASETS.register_module()
class CocoDetection(CocoDataset):
    """``mmdet.CocoDataset`` that refuses incomplete data.

    mmdet skips classes that an annotation file lacks, and then numbers the others differently from the model.

    Raises:
        UserError: if the annotation file is missing or no COCO file, lacks a class of ``metainfo['classes']``, or
            names an image that is not there.
    """

    COCOAPI = _CompleteCOCO

    def load_data_list(self) -> list[dict]:
        _check_exists(self.ann_file)
        try:
            data = super().load_data_list()
        except UserError:
            raise
        except (AssertionError, KeyError, TypeError, ValueError) as error:
            reason = f'{type(error).__name__}: {error}'
            raise UserError(f'{self.ann_file} is no COCO annotation file: {reason}') from error
        _check_images((item['img_path'] for item in data), self.ann_file)
        return data


@DATASETS.register_module()
class VOCDetection(VOCDataset):
    """``mmdet.VOCDataset`` that refuses incomplete data.

    Raises:
        UserError: if the list of images is missing, or an image or its annotation is not there.
    """

    def load_data_list(self) -> list[dict]:
        _check_exists(self.ann_file)
        if _is_local(self.ann_file):
            names = Path(self.ann_file).read_text(encoding='utf-8').split()
            annotations = Path(self.sub_data_root, self.ann_subdir)
            _check_files((str(annotations / f'{name}.xml') for name in names), self.ann_file, 'annotation')
        data = super().load_data_list()
        _check_images((item['img_path'] for item in data), self.ann_file)
        return data


def _is_local(path: str) -> bool:
    return '://' not in path


def _check_exists(path: str) -> None:
    if _is_local(path) and not Path(path).is_file():
        raise UserError(f'there is no annotation file {path}; put it there or pass --data-root DIR')


def _check_images(paths: Iterable[str], source: str) -> None:
    _check_files((path for path in paths if _is_local(path)), source, 'image')


def _check_files(paths: Iterable[str], source: str, kind: str) -> None:
    """One listing per folder: asking for every single file is slow on network disks."""
    present: dict[str, set[str]] = {}
    missing = []
    for path in paths:
        folder, name = os.path.split(path)
        if folder not in present:
            present[folder] = set(os.listdir(folder)) if os.path.isdir(folder) else set()
        if name not in present[folder]:
            missing.append(path)
    if missing:
        raise UserError(f'{len(missing)} {kind} file(s) that {source} names are missing, for example {missing[0]}')
