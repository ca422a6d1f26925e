"""ImageNet-A, -R and -C: hard, rendered and corrupted images that test classifiers of ImageNet-1K."""

from collections import Counter
from pathlib import Path

from mixcl.datasets.imagenet import ClassFolders, imagenet_classes, labelled_images
from mixcl.datasets.split_dataset import SplitDataset
from mixcl.errors import UserError
from mixcl.registry import DATASETS

ALEXNET_ERRORS = dict(
    gaussian_noise=0.886428,
    shot_noise=0.894468,
    impulse_noise=0.922640,
    defocus_blur=0.819880,
    glass_blur=0.826268,
    motion_blur=0.785948,
    zoom_blur=0.798360,
    snow=0.866816,
    frost=0.826572,
    fog=0.819324,
    brightness=0.564592,
    contrast=0.853204,
    elastic_transform=0.646056,
    pixelate=0.717840,
    jpeg_compression=0.606500,
)
"""AlexNet's error on each of the 15 corruptions of ImageNet-C, averaged over the severities.

Some public scripts list the same errors beside the corruptions in another order.
"""
CORRUPTIONS = tuple(ALEXNET_ERRORS)
SEVERITIES = (1, 2, 3, 4, 5)


class _ClassSubset(ClassFolders):
    """A folder per class, for 200 classes of ImageNet-1K.

    ``gt_label`` is the number among its 1,000 classes (WordNet ids in ascending order). ``metainfo['class_numbers']``
    has those of the 200, for :class:`~mixcl.evaluation.metrics.robustness_metrics.MaskedAccuracy`. Arguments same as
    SplitDataset's.
    """

    SPLITS = ('test',)
    LAYOUT = '<wnid>/*.jpg'
    SUBSET = ''

    def class_folders(self) -> list[Path]:
        return [self.required(wnid) for wnid in imagenet_classes(self.SUBSET)]

    def load_data_list(self) -> list[dict]:
        wnids = tuple(imagenet_classes(self.SUBSET))
        numbers = tuple(map(imagenet_classes().index, wnids))
        self._metainfo.update(classes=wnids, class_numbers=numbers)
        return labelled_images(zip(numbers, self.class_folders(), strict=True))


@DATASETS.register_module()
class ImageNetA(_ClassSubset):
    """7,500 natural images of 200 classes that fool a ResNet-50.

    Source: Hendrycks et al., Natural adversarial examples, https://arxiv.org/abs/1907.07174.
    """

    SUBSET = 'imagenet_a'


@DATASETS.register_module()
class ImageNetR(_ClassSubset):
    """30,000 renditions (paintings, toys, sketches ...) of 200 classes, not the same as ImageNet-A's.

    Source: Hendrycks et al., The many faces of robustness, https://arxiv.org/abs/2006.16241.
    """

    SUBSET = 'imagenet_r'


@DATASETS.register_module()
class ImageNetC(SplitDataset):
    """ImageNet-1K's 50,000 validation images under 15 corruptions with 5 severities: 3.75 million images.

    Read from ``<corruption>/<severity>/<wnid>/*.JPEG``, with or without the archives' folders (noise, blur, weather,
    digital) around. The extra corruptions are not read. Samples have ``corruption`` (its name) and ``severity``
    (1 to 5). The list of all images takes about 3 GB while it is built and 1 GB afterwards.

    Arguments same as SplitDataset's.

    Raises:
        UserError: if one of the 75 settings is missing, or holds fewer images than another.

    Source: Hendrycks and Dietterich, Benchmarking neural network robustness to common corruptions and perturbations,
    https://arxiv.org/abs/1903.12261.
    """

    SPLITS = ('test',)
    LAYOUT = '<corruption>/<severity>/<wnid>/*.JPEG, or all of noise, blur, weather and digital with these folders'

    def settings(self) -> dict[tuple[str, int], Path]:
        """Return the folder of each corruption and severity, without looking for images; raise if one is missing."""
        root = self.required()
        settings: dict[tuple[str, int], Path] = {}
        for corruption in CORRUPTIONS:
            folder, *_ = (*root.glob(corruption), *root.glob(f'*/{corruption}'), root / corruption)
            parts = folder.relative_to(root).parts
            settings |= {(corruption, number): self.required(*parts, str(number)) for number in SEVERITIES}
        return settings

    def check_layout(self) -> None:
        """Refuse a folder that lacks a setting, without looking for images."""
        self.settings()

    def load_data_list(self) -> list[dict]:
        classes = self._metainfo['classes'] = tuple(imagenet_classes())
        settings = self.settings()
        images = [
            dict(image, corruption=corruption, severity=severity)
            for (corruption, severity), folder in settings.items()
            for image in labelled_images(
                (label, folder / wnid) for label, wnid in enumerate(classes) if (folder / wnid).is_dir()
            )
        ]
        sizes = Counter((image['corruption'], image['severity']) for image in images)
        fewest, most = (pick(settings, key=lambda setting: sizes[setting]) for pick in (min, max))
        if sizes[fewest] < sizes[most]:
            raise UserError(
                f'ImageNetC: {settings[fewest]} holds {sizes[fewest]} images, but every corruption and severity should '
                f'hold as many as the fullest, {sizes[most]}; unpack the archive again'
            )
        return images
