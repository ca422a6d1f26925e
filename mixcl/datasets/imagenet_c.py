"""ImageNet-C: corrupted images that test classifiers of ImageNet-1K."""

from pathlib import Path

from mixcl.datasets.imagenet import folders_in, imagenet_classes, images_in
from mixcl.datasets.split_dataset import SplitDataset
from mixcl.errors import UserError
from mixcl.evaluation.functional.robustness import CORRUPTIONS, SEVERITIES
from mixcl.registry import DATASETS


@DATASETS.register_module()
class ImageNetC(SplitDataset):
    """ImageNet-1K's 50,000 validation images under 15 corruptions with 5 severities: 3.75 million images.

    Read from ``<corruption>/<severity>/<wnid>/*.JPEG``, or with the folders of the archives (noise, blur, weather,
    digital) around. Further corruptions (extra) are not read. Samples have ``corruption`` (its name) and ``severity``
    (1 to 5). The list of all images needs about 3 GB while it is made and 1 GB afterwards.

    Arguments as of SplitDataset.

    Raises:
        UserError: if one of the 75 settings is missing, holds another number of images than the others, or holds a
            folder that is no class of ImageNet-1K.

    Source: Hendrycks and Dietterich, Benchmarking neural network robustness to common corruptions and perturbations,
    https://arxiv.org/abs/1903.12261.
    """

    SPLITS = ('test',)
    LAYOUT = '<corruption>/<severity>/<wnid>/*.JPEG, or the folders of the archives around'

    def check_layout(self) -> None:
        """Refuse a folder that lacks a setting, without looking for images."""
        self._settings()

    def load_data_list(self) -> list[dict]:
        """One entry per image."""
        classes = imagenet_classes()
        numbers = {wnid: number for number, wnid in enumerate(classes)}
        self._metainfo['classes'] = tuple(classes)
        images: list[dict] = []
        sizes: dict[Path, int] = {}
        for (corruption, severity), folder in self._settings().items():
            before = len(images)
            for wnid in folders_in(folder):
                if wnid not in numbers:
                    raise UserError(
                        f'ImageNetC: {folder / wnid} is named after no class of ImageNet-1K; expected '
                        '<corruption>/<severity>/<wnid>'
                    )
                info = dict(gt_label=numbers[wnid], corruption=corruption, severity=severity)
                images += [dict(img_path=path, **info) for path in images_in(folder / wnid)]
            sizes[folder] = len(images) - before
        _check_sizes(sizes)
        return images

    def _settings(self) -> dict[tuple[str, int], Path]:
        """The folder of each corruption and severity."""
        root = self.required()
        groups = [root, *(root / name for name in folders_in(root) if name not in CORRUPTIONS)]
        settings: dict[tuple[str, int], Path] = {}
        for corruption in CORRUPTIONS:
            folder = next((group / corruption for group in groups if (group / corruption).is_dir()), root / corruption)
            settings |= {(corruption, severity): folder / str(severity) for severity in SEVERITIES}
        absent = [folder for folder in settings.values() if not folder.is_dir()]
        missing = dict.fromkeys(folder if folder.parent.is_dir() else folder.parent for folder in absent)
        if missing:
            raise UserError(
                f'ImageNetC: folders are missing in {root} and the folders in it (noise, blur, weather, digital): '
                f'{", ".join(str(folder.relative_to(root)) for folder in missing)}; unpack all archives there or give '
                'the right folder with --data-root'
            )
        return settings


def _check_sizes(sizes: dict[Path, int]) -> None:
    most = max(sizes.values())
    short = [folder for folder, size in sizes.items() if size < most or not size]
    if short:
        raise UserError(
            f'ImageNetC: {short[0]} holds {sizes[short[0]]} images, but every corruption and severity should hold as '
            f'many as the fullest, {most}; unpack the archive again'
        )
