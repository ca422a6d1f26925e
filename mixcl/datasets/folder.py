"""A folder of images, with or without labels."""

import os
from collections.abc import Iterator

from mmpretrain.datasets import CustomDataset

from mixcl.errors import UserError
from mixcl.registry import DATASETS

EXTENSIONS = (
    '.jpg', '.jpeg', '.jpe', '.jfif', '.png', '.webp', '.gif', '.bmp', '.tif', '.tiff', '.ppm', '.pgm', '.pbm', '.pnm',
)  # fmt: skip


@DATASETS.register_module()
class ImageFolder(CustomDataset):
    """All images under a folder, however deep, of any mix of formats; hidden files and folders are skipped.

    Symbolic links are followed. Samples have ``img_path``, in the order of the sorted paths.

    Args:
        data_root: the folder.
        with_label: as in mmpretrain's CustomDataset: sub-folders, or numbers in ``ann_file``, are classes.
        **kwargs: of CustomDataset: ``ann_file`` (a text file with one path per line, relative to the folder; by default
            the folder is searched), ``extensions`` (file name endings that count as images), ``pipeline``, ``indices``.

    Raises:
        UserError: if the folder or the file list is missing, or if there are no images.
    """

    def __init__(self, data_root: str, with_label: bool = False, **kwargs) -> None:
        kwargs.setdefault('extensions', EXTENSIONS)
        super().__init__(data_root=os.path.expanduser(data_root), with_label=with_label, **kwargs)

    def load_data_list(self) -> list[dict]:
        """One entry per image."""
        folder = os.path.normpath(self.img_prefix)
        if not os.path.isdir(folder):
            raise UserError(f'the image folder {folder} does not exist: give another by data_root or --data-root')
        if self.ann_file and not os.path.isfile(self.ann_file):
            raise UserError(f'the list of images {self.ann_file} does not exist: correct ann_file in the config')
        return super().load_data_list()

    def _find_samples(self) -> list[str] | list[tuple[str, int]]:
        files = sorted(files_below(self.img_prefix))
        images = [file for file in files if self.is_valid_file(file)]
        if not images:
            raise UserError(
                f'no images in the folder {os.path.normpath(self.img_prefix)}: looked in it and below for '
                f'{" ".join(sorted(self.extensions))}, and saw {len(files)} other file(s); '
                'give another folder by data_root or --data-root'
            )
        return super()._find_samples() if self.with_label else images


def files_below(folder: str) -> Iterator[str]:
    """The paths, relative to the folder, of all files below it that are not hidden; every real folder once."""
    seen = set()
    for parent, folders, files in os.walk(folder, followlinks=True):
        # A link to a folder above would be followed for ever.
        real = os.path.realpath(parent)
        folders[:] = [] if real in seen else sorted(name for name in folders if not name.startswith('.'))
        if real not in seen:
            yield from (os.path.relpath(os.path.join(parent, name), folder) for name in files if name[0] != '.')
        seen.add(real)
