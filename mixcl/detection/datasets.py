"""mmdet's COCO and VOC data sets, with checks of annotations and images before training, and their batches."""

import os
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

from mmdet.datasets import BaseDetDataset, CocoDataset, VOCDataset
from mmdet.datasets.api_wrappers import COCO
from mmdet.datasets.samplers import AspectRatioBatchSampler

from mixcl.datasets import SampleKey
from mixcl.datasets.unreadable import NoReadableImage, UnreadableImage
from mixcl.errors import UserError, printable
from mixcl.quiet_log import tell
from mixcl.registry import DATA_SAMPLERS, DATASETS


class _CompleteCOCO(COCO):
    """mmdet's annotations, which here must have every requested class."""

    def __init__(self, annotation_file: str) -> None:
        self.source = annotation_file
        super().__init__(annotation_file)

    def get_cat_ids(self, cat_names: Sequence[str] = (), **kwargs: Any) -> list[int]:
        ids = super().get_cat_ids(cat_names=cat_names, **kwargs)
        found = [self.cats[one]['name'] for one in ids]
        if cat_names and found != list(cat_names):
            absent = [name for name in cat_names if name not in found]
            problem = f'lacks {absent[0]!r}' if absent else f'has them in the order {", ".join(found)}'
            raise UserError(
                f'the annotation file {self.source} should have the {len(cat_names)} classes that the config names, '
                f'but {problem}; list its own, in its order, under dataset.metainfo.classes, and set num_classes of '
                'the heads'
            )
        return ids


class _CompleteData(BaseDetDataset):
    """The checks of both data sets. In training :class:`~mixcl.datasets.KeyedDataset` replaces unreadable images."""

    def load_data_list(self) -> list[dict]:
        if _is_local(self.ann_file) and not Path(self.ann_file).is_file():
            raise UserError(f'there is no annotation file {self.ann_file}; put it there or pass `data_root=DIR`')
        data = super().load_data_list()
        _check_files((item['img_path'] for item in data), self.ann_file)
        return data

    def filter_data(self) -> list[dict]:
        unfiltered, data = self.data_list, super().filter_data()
        if not data:
            raise UserError(
                f'no image of {self.ann_file} is left: none has an object of the classes that the config names, or all '
                'are smaller than filter_cfg.min_size'
            )
        if left_out := len(unfiltered) - len(data):
            small = sum(min(item['width'], item['height']) < self.filter_cfg.get('min_size', 0) for item in unfiltered)
            tell(
                f'{self.ann_file}: {len(data):,} of {len(unfiltered):,} images are trained on; {left_out - small:,} '
                f'have no object of the classes (filter_empty_gt), {small:,} are smaller than filter_cfg.min_size'
            )
        return data

    def prepare_data(self, index: int) -> dict | None:
        try:
            return super().prepare_data(index)
        except UnreadableImage as error:
            raise NoReadableImage(
                f'the image {error} cannot be read, and a test needs every image; repair the file, or take it out of '
                f'{self.ann_file}'
            ) from error


@DATASETS.register_module()
class CocoDetection(_CompleteData, CocoDataset):
    """``mmdet.CocoDataset`` that refuses incomplete data.

    mmdet skips classes that an annotation file lacks, and numbers classes by their order in that file, whatever the
    order of the config's names.

    Raises:
        UserError: if the annotation file is missing, lacks a class of ``metainfo['classes']`` or has them in another
            order, names an image that is not there, or has no masks where the pipeline loads them; or if no image is
            left. Later, for an image that cannot be read (with ``LoadImage`` in the pipeline).
    """

    COCOAPI = _CompleteCOCO

    def load_data_list(self) -> list[dict]:
        data = super().load_data_list()
        with_mask = any(getattr(transform, 'with_mask', False) for transform in self.pipeline.transforms)
        without = sum('mask' not in instance for item in data for instance in item['instances'])
        if with_mask and without:
            raise UserError(
                f'{without} object(s) in {self.ann_file} have no segmentation, but the config trains masks; take a '
                'detector of boxes alone, or annotations with masks'
            )
        return data


@DATASETS.register_module()
class VOCDetection(_CompleteData, VOCDataset):
    """``mmdet.VOCDataset`` that refuses incomplete data, and learns from objects that are marked difficult.

    Tests leave these objects out, as VOC says. mmdet also leaves them out of training, which makes them background
    there; the papers' numbers come from detectron2, which trains on them.

    Raises:
        UserError: if the list of images is missing, an image is not there, or no image is left.
            Later, for an image that cannot be read (with ``LoadImage`` in the pipeline).

    Source: detectron2, detectron2/data/datasets/pascal_voc.py.
    """

    def load_data_list(self) -> list[dict]:
        data = super().load_data_list()
        if not self.test_mode:
            for instance in (instance for item in data for instance in item['instances']):
                left, top, right, bottom = instance['bbox']
                instance['ignore_flag'] = int(min(right - left, bottom - top) < (self.bbox_min_size or 0))
        return data


@DATA_SAMPLERS.register_module()
class KeyedAspectRatioBatchSampler(AspectRatioBatchSampler):
    """``mmdet.AspectRatioBatchSampler`` that wraps a ``KeyedSampler`` and can begin at batch ``start`` of an epoch."""

    start = 0

    def __iter__(self) -> Iterator[list[SampleKey]]:
        # A new sampler, since mmdet's keeps what it had collected when a pass was interrupted.
        # mmdet's drop_last also drops a full last batch if it mixes both shapes, although the length counts it.
        batches = AspectRatioBatchSampler(self.sampler, self.batch_size, drop_last=False)
        kept = (batch for batch in batches if len(batch) == self.batch_size or not self.drop_last)
        yield from islice(kept, self.start, None)


def _is_local(path: str) -> bool:
    return '://' not in path


def _check_files(paths: Iterable[str], source: str) -> None:
    """Check that files exist, listing each folder once: a query per file is slow on network disks."""
    present: dict[str, set[str]] = {}
    missing = []
    for path in filter(_is_local, paths):
        folder, name = os.path.split(path)
        if folder not in present:
            present[folder] = set(os.listdir(folder)) if os.path.isdir(folder) else set()
        if name not in present[folder]:
            missing.append(path)
    if missing:
        raise UserError(
            f'{len(missing)} image file(s) that {source} names are missing, for example {printable(missing[0])}'
        )
