"""A folder of images."""

import os
import sys
from collections.abc import Sequence
from typing import Any, NoReturn

from mixcl.datasets.own_images import Images, OwnImages, parts_by_name
from mixcl.errors import UserError
from mixcl.registry import DATASETS

EXTENSIONS = (
    *('.jpg', '.jpeg', '.jpe', '.jfif', '.png', '.webp', '.gif', '.bmp', '.dib', '.tif', '.tiff'),
    *('.ppm', '.pgm', '.pbm', '.pnm', '.avif', '.jp2', '.j2k', '.tga', '.pcx'),
)


@DATASETS.register_module()
class FolderImages(OwnImages):
    """All images under a folder, at any depth and of any mix of formats; hidden files and folders are skipped.

    Symbolic links are followed. Samples have ``img_path`` and are sorted by path. An image's label is the first folder
    of its path. With folders ``train`` and ``val`` (or ``valid``, ``validation``, ``test``) the split is given, and the
    label is the next folder. Images beside the folders have no label.

    Args:
        source: the folder.
        extensions: endings of image names; ``('.npy', '.tif')`` for ``LoadChannels``.
        **kwargs: same as OwnImages's.

    Raises:
        UserError: if the folder is missing, holds no images or cannot be read.
    """

    def __init__(self, source: str, extensions: Sequence[str] = EXTENSIONS, **kwargs: Any) -> None:
        self.extensions = tuple(extensions)
        super().__init__(source, **kwargs)

    def images(self) -> Images:
        names = images_below(self.source, self.extensions)
        given = parts_by_name({name.partition(os.sep)[0] for name in names if os.sep in name})
        beside, depth = (None, 1) if any(given.values()) else ('', 0)
        labels = [_folder(name, depth) for name in names]
        return Images(names, labels, [given.get(name.partition(os.sep)[0], beside) for name in names], [])


@DATASETS.register_module()
class ImageFolder(FolderImages):
    """The images of :class:`FolderImages`, without labels and without a split; the folder is ``data_root``."""

    def __init__(self, data_root: str, **kwargs: Any) -> None:
        super().__init__(data_root, **kwargs)

    def images(self) -> Images:
        names = images_below(self.source, self.extensions)
        return Images(names, [None] * len(names), [''] * len(names), [])


def _folder(name: str, depth: int) -> str | None:
    """Return the folder of a path below ``depth`` others, if there is one."""
    folders = name.split(os.sep, depth + 1)
    return sys.intern(folders[depth]) if len(folders) > depth + 1 else None


def is_image(name: str, extensions: tuple[str, ...] = EXTENSIONS) -> bool:
    """Whether a file name has an image's extension."""
    return name.lower().endswith(extensions)


def images_below(folder: str, extensions: tuple[str, ...] = EXTENSIONS) -> list[str]:
    """Return the sorted paths of the images below a folder, relative to it.

    Links are followed, every real folder once. Other things named like images, such as pipes, are refused when read.

    Raises:
        UserError: if the folder is missing or holds no images; if it, or a folder below, cannot be read.
    """
    if not os.path.isdir(folder):
        raise UserError(f'the image folder {folder} does not exist: give another, by `data` or `data_root`')
    images: list[str] = []
    others, seen, length = 0, set(), len(os.path.join(folder, ''))
    for parent, folders, files in os.walk(folder, onerror=_refuse, followlinks=True):
        real = os.path.realpath(parent)
        if real in seen:  # a link to a folder above would be followed forever
            folders.clear()
            continue
        seen.add(real)
        folders[:] = sorted(name for name in folders if name[0] != '.')
        visible = [name for name in files if name[0] != '.']
        found = [name for name in visible if is_image(name, extensions)]
        images += [os.path.join(parent[length:], name) for name in found]
        others += len(visible) - len(found)
    if not images:
        raise UserError(
            f'no images in the folder {folder}: looked in it and below for {" ".join(extensions)}, and saw '
            f'{others} other file(s); give another folder, by `data` or `data_root`'
        )
    return sorted(images)


def _refuse(error: OSError) -> NoReturn:
    raise UserError(
        f'{error.filename} cannot be searched for images ({error.strerror}): allow it, or give another folder'
    ) from error
