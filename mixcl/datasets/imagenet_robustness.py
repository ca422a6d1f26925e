"""ImageNet-A and ImageNet-R, which test classifiers of ImageNet-1K on a part of its classes."""

from mixcl.datasets.imagenet import IMAGE_ENDINGS, folders_in, imagenet_classes, images_in
from mixcl.datasets.split_dataset import SplitDataset
from mixcl.errors import UserError
from mixcl.registry import DATASETS


class _ClassSubset(SplitDataset):
    """A folder per class, for 200 classes of ImageNet-1K.

    ``gt_label`` is the number among its 1,000 classes (WordNet ids in ascending order), ``metainfo['class_numbers']``
    those of the 200, for :class:`~mixcl.evaluation.metrics.robustness_metrics.MaskedAccuracy`. Arguments as of
    SplitDataset.

    Raises:
        UserError: if the folder does not hold exactly the 200 classes, or one is empty.
    """

    SPLITS = ('test',)
    LAYOUT = '<wnid>/*.jpg'
    SUBSET = ''

    def check_layout(self) -> None:
        """Refuse a folder of other classes, without looking for images."""
        self._class_folders()

    def load_data_list(self) -> list[dict]:
        """One entry per image."""
        wnids = self._class_folders()
        numbers = {wnid: number for number, wnid in enumerate(imagenet_classes())}
        self._metainfo.update(classes=tuple(wnids), class_numbers=tuple(numbers[wnid] for wnid in wnids))
        images = {wnid: images_in(self.required(wnid)) for wnid in wnids}
        empty = [wnid for wnid, paths in images.items() if not paths]
        if empty:
            raise UserError(
                f'{type(self).__name__}: {self.required(empty[0])} holds no images ({" ".join(IMAGE_ENDINGS)}); unpack '
                'the archive again'
            )
        return [dict(img_path=path, gt_label=numbers[wnid]) for wnid, paths in images.items() for path in paths]

    def _class_folders(self) -> list[str]:
        found, expected = folders_in(self.required()), imagenet_classes(self.SUBSET)
        missing, others = (sorted(set(left) - set(right)) for left, right in ((expected, found), (found, expected)))
        if missing or others:
            examples = [f'{len(missing)} missing, such as {missing[0]}'] if missing else []
            examples += [f'{len(others)} others, such as {others[0]}'] if others else []
            raise UserError(
                f'{type(self).__name__}: {self.data_root} should hold the folders of its {len(expected)} classes, but '
                f'has {len(found)} folders ({"; ".join(examples)}); unpack the archive again or give the right folder '
                'with --data-root'
            )
        return found


@DATASETS.register_module()
class ImageNetA(_ClassSubset):
    """7,500 natural images that fool a ResNet-50, of 200 classes.

    Source: Hendrycks et al., Natural adversarial examples, https://arxiv.org/abs/1907.07174.
    """

    SUBSET = 'imagenet_a'


@DATASETS.register_module()
class ImageNetR(_ClassSubset):
    """30,000 renditions (paintings, toys, sketches ...) of 200 classes, others than those of ImageNet-A.

    Source: Hendrycks et al., The many faces of robustness, https://arxiv.org/abs/2006.16241.
    """

    SUBSET = 'imagenet_r'
