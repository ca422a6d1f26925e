"""ImageNet-A and ImageNet-R, which test classifiers of ImageNet-1K on a part of its classes.

``gt_label`` is always the number among the 1,000 classes of ImageNet-1K (WordNet ids in ascending order).
"""

import os
from importlib.resources import files
from pathlib import Path

from mmpretrain.datasets import BaseDataset

from mixcl.datasets.imagenet_subsets import IMAGE_ENDINGS
from mixcl.errors import UserError
from mixcl.registry import DATASETS


def imagenet_classes(subset: str = 'imagenet') -> list[str]:
    """WordNet ids of the classes in ascending order, as timm ships them.

    Args:
        subset: 'imagenet' (1,000 classes), 'imagenet_a' or 'imagenet_r' (200 of them each).
    """
    return (files('timm') / f'data/_info/{subset}_synsets.txt').read_text().split()


def folders_in(folder: Path) -> list[str]:
    return sorted(entry.name for entry in os.scandir(folder) if entry.is_dir() and entry.name[0] != '.')


def images_in(folder: Path) -> list[str]:
    paths = (entry.path for entry in os.scandir(folder) if entry.name[0] != '.')
    return sorted(path for path in paths if path.lower().endswith(IMAGE_ENDINGS))


class RobustnessTest(BaseDataset):
    """What ImageNet-A, -R and -C have in common: a root folder, and the classes of ImageNet-1K."""

    METAINFO = {'num_model_classes': 1000}  # noqa: RUF012 (mmengine's name and form)

    def __init__(self, data_root: str, **kwargs) -> None:
        super().__init__(ann_file='', data_root=data_root, **kwargs)

    @property
    def root(self) -> Path:
        """The folder.

        Raises:
            UserError: if it does not exist.
        """
        root = Path(self.data_root).expanduser()
        if not root.is_dir():
            raise UserError(f'{type(self).__name__}: the folder {root} does not exist; give another with --data-root')
        return root


class _ClassSubset(RobustnessTest):
    """A folder per class, ``<wnid>/*``, for 200 classes of ImageNet-1K."""

    SUBSET = ''

    def check_layout(self) -> None:
        """Refuse a folder of other classes, without looking for images."""
        self._check_classes(folders_in(self.root))

    def load_data_list(self) -> list[dict]:
        """One entry per image."""
        wnids = folders_in(self.root)
        self._check_classes(wnids)
        numbers = {wnid: number for number, wnid in enumerate(imagenet_classes())}
        self._metainfo.update(classes=tuple(wnids), class_numbers=tuple(numbers[wnid] for wnid in wnids))
        images = {wnid: images_in(self.root / wnid) for wnid in wnids}
        empty = [wnid for wnid, paths in images.items() if not paths]
        if empty:
            raise UserError(
                f'{type(self).__name__}: {self.root / empty[0]} holds no images ({" ".join(IMAGE_ENDINGS)}); unpack '
                'the archive again'
            )
        return [dict(img_path=path, gt_label=numbers[wnid]) for wnid, paths in images.items() for path in paths]

    def _check_classes(self, wnids: list[str]) -> None:
        expected = imagenet_classes(self.SUBSET)
        missing, others = (sorted(set(left) - set(right)) for left, right in ((expected, wnids), (wnids, expected)))
        if missing or others:
            examples = [f'{len(missing)} missing, such as {missing[0]}'] if missing else []
            examples += [f'{len(others)} others, such as {others[0]}'] if others else []
            raise UserError(
                f'{type(self).__name__}: {self.root} should hold the folders of its {len(expected)} classes, but has '
                f'{len(wnids)} folders ({"; ".join(examples)}); unpack the archive again or give the right folder with '
                '--data-root'
            )


@DATASETS.register_module()
class ImageNetA(_ClassSubset):
    """7,500 natural images that fool a ResNet-50, of 200 classes: ``<wnid>/*.jpg``.

    ``metainfo['class_numbers']`` holds the numbers of the classes in ImageNet-1K, for
    :class:`mixcl.evaluation.metrics.robustness_metrics.MaskedAccuracy`.

    Args:
        data_root: the unpacked folder.
        **kwargs: of mmpretrain's ``BaseDataset``, for example ``pipeline``.

    Raises:
        UserError: if the folder does not hold exactly the 200 classes, or one is empty.

    Source: Hendrycks et al., Natural adversarial examples, https://arxiv.org/abs/1907.07174.
    """

    SUBSET = 'imagenet_a'


@DATASETS.register_module()
class ImageNetR(_ClassSubset):
    """30,000 renditions (paintings, toys, sketches ...) of 200 classes, others than those of ImageNet-A.

    Args:
        data_root: the unpacked folder.
        **kwargs: of mmpretrain's ``BaseDataset``, for example ``pipeline``.

    Raises:
        UserError: as :class:`ImageNetA`.

    Source: Hendrycks et al., The many faces of robustness, https://arxiv.org/abs/2006.16241.
    """

    SUBSET = 'imagenet_r'
