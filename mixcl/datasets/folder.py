"""A folder of images."""

import os
from collections.abc import Iterator, Sequence
from typing import Any

from mmpretrain.datasets import CustomDataset

from mixcl.datasets.own_images import OwnImage, OwnImages, given_parts
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
        extensions: endings of the names of images; ``('.npy', '.tif')`` for ``LoadChannels``.
        **kwargs: of mmpretrain's CustomDataset, for example ``pipeline``, ``indices``, and ``ann_file`` (a text file
            with one path per line, relative to the folder; by default the folder is searched).

    Raises:
        UserError: if the folder is missing or holds no images.
    """

    def __init__(self, data_root: str, extensions: Sequence[str] = EXTENSIONS, **kwargs: Any) -> None:
        super().__init__(os.path.expanduser(data_root), extensions=tuple(extensions), with_label=False, **kwargs)

    def _find_samples(self) -> list[str]:
        return images_below(os.path.normpath(self.img_prefix), self.extensions)


@DATASETS.register_module()
class FolderImages(OwnImages):
    """The images that :class:`ImageFolder` finds, labelled by the folders that they lie in.

    A label is the first folder of an image's path. With folders ``train`` and ``val`` (or ``valid``, ``validation``,
    ``test``) the split is given, and the label is the next folder. Images beside the folders have no label.

    Args:
        source: the folder.
        extensions: endings of the names of images.
        **kwargs: of OwnImages.
    """

    def __init__(self, source: str, extensions: Sequence[str] = EXTENSIONS, **kwargs: Any) -> None:
        self.extensions = tuple(extensions)
        super().__init__(source, **kwargs)

    @property
    def folder(self) -> str:
        """The source itself."""
        return self.source

    def images(self) -> list[OwnImage]:
        """One per file, in the order of the sorted paths."""
        root = os.path.normpath(self.source)
        paths = images_below(root, self.extensions)
        parts = given_parts(path.split(os.sep)[0] for path in paths)
        images = []
        for path in paths:
            folders = path.split(os.sep)[:-1]
            labels = folders[1:] if any(parts.values()) else folders
            info = dict(img_path=os.path.join(root, path))
            images.append(OwnImage(path, labels[0] if labels else None, parts[path.split(os.sep)[0]], info))
        return images


def is_image(name: str, extensions: tuple[str, ...] = EXTENSIONS) -> bool:
    """Whether a file's name ends as that of an image."""
    return name.lower().endswith(extensions)


def images_below(folder: str, extensions: tuple[str, ...] = EXTENSIONS) -> list[str]:
    """The sorted paths, relative to a folder, of the images below it.

    Raises:
        UserError: if the folder is missing or holds none.
    """
    if not os.path.isdir(folder):
        raise UserError(f'the image folder {folder} does not exist: give another, by --data, --data-root or data_root')
    files = sorted(files_below(folder))
    images = [file for file in files if is_image(file, extensions)]
    if not images:
        raise UserError(
            f'no images in the folder {folder}: looked in it and below for {" ".join(extensions)}, and saw '
            f'{len(files)} other file(s); give another folder, by --data, --data-root or data_root'
        )
    return images


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
