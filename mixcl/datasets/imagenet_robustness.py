"""ImageNet-A and ImageNet-R, which test classifiers of ImageNet-1K on a part of its classes."""

from mixcl.datasets.imagenet import check_class_folders, folders_in, imagenet_classes, images_in
from mixcl.datasets.split_dataset import SplitDataset
from mixcl.registry import DATASETS


class _ClassSubset(SplitDataset):
    """A folder per class, for 200 classes of ImageNet-1K.

    ``gt_label`` is the number among its 1,000 classes (WordNet ids in ascending order), ``metainfo['class_numbers']``
    those of the 200, for :class:`~mixcl.evaluation.metrics.robustness_metrics.MaskedAccuracy`. Arguments same as
    SplitDataset's.

    Raises:
        UserError: if the folder does not hold exactly the 200 classes.
    """

    SPLITS = ('test',)
    LAYOUT = '<wnid>/*.jpg'
    SUBSET = ''

    def check_layout(self) -> None:
        """Refuse a folder of other classes, without looking for images."""
        root = self.required()
        check_class_folders(type(self).__name__, root, folders_in(root), imagenet_classes(self.SUBSET))

    def load_data_list(self) -> list[dict]:
        """One entry per image."""
        self.check_layout()
        every = imagenet_classes()
        numbers = {every.index(wnid): wnid for wnid in imagenet_classes(self.SUBSET)}
        self._metainfo.update(classes=tuple(numbers.values()), class_numbers=tuple(numbers))
        return [
            dict(img_path=path, gt_label=number)
            for number, wnid in numbers.items()
            for path in images_in(self.required(wnid))
        ]


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
