"""A folder of images."""

import os
import sys
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from typing import Any, NoReturn

from mixcl.datasets.own_images import Images, OwnImages, parts_by_name
from mixcl.errors import UserError
from mixcl.files import open_regular
from mixcl.registry import DATASETS

EXTENSIONS = (
    *('.jpg', '.jpeg', '.jpe', '.jfif', '.png', '.webp', '.gif', '.bmp', '.dib', '.tif', '.tiff'),
    *('.ppm', '.pgm', '.pbm', '.pnm', '.avif', '.jp2', '.j2k', '.tga', '.pcx'),
)

RUN = {'run.lock', 'last_checkpoint'}
"""Files of which one lies in every folder of a run."""

DRAWN = ('mix', 'views', 'attention', 'tokens', 'similarity', 'keys', 'neighbours', 'map', 'curves', 'mix_preview')
FIGURES = {f'{name}.png' for name in DRAWN}
"""Names of figures of mixcl for which no other is given."""


@DATASETS.register_module()
class FolderImages(OwnImages):
    """All images under a folder, at any depth and of any mix of formats; hidden files and folders are skipped.

    Symbolic links are followed. Samples have ``img_path`` and are sorted by path. An image's label is the first folder
    of its path. With folders ``train`` and ``val`` (or ``valid``, ``validation``, ``test``) the split is given, and the
    label is the next folder. Images beside the folders have no label. What runs have written is no image.

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
        self.no_images.clear()
        names = images_below(self.source, self.extensions, self.no_images)
        tops = {name.partition(os.sep)[0] if os.sep in name else '' for name in names}
        given = parts_by_name({top or 'extra' for top in tops} if len(tops) == 2 else tops - {''})
        beside, depth = ('extra', 1) if any(given.values()) else ('', 0)
        labels = [_folder(name, depth) for name in names]
        return Images(names, labels, [given.get(name.partition(os.sep)[0], beside) for name in names], [])


@DATASETS.register_module()
class ImageFolder(FolderImages):
    """The images of :class:`FolderImages` that pretraining sees, without labels; the folder is ``data_root``."""

    def __init__(self, data_root: str, split: str = 'pretrain', **kwargs: Any) -> None:
        super().__init__(data_root, labels=False, split=split, **kwargs)


def _folder(name: str, depth: int) -> str | None:
    """Return the folder of a path below ``depth`` others, if there is one."""
    folders = name.split(os.sep, depth + 1)
    return sys.intern(folders[depth]) if len(folders) > depth + 1 else None


def is_image(name: str, extensions: tuple[str, ...] = EXTENSIONS) -> bool:
    """Whether a file name has an image's extension."""
    return name.lower().endswith(extensions)


def images_below(
    folder: str, extensions: tuple[str, ...] = EXTENSIONS, written: Counter[str] | None = None
) -> list[str]:
    """Return the sorted paths of the images below a folder, relative to it.

    Links are followed, every real folder once. Other things named like images, such as pipes, are refused when read.
    What mixcl wrote is left out, and counted in ``written``: folders of runs, pictures for TensorBoard, and figures. A
    run in the searched folder itself leaves its images alone.

    Raises:
        UserError: if the folder is missing or holds no images; if it, or a folder below, cannot be read.
    """
    if not os.path.isdir(folder):
        raise UserError(f'the image folder {folder} does not exist: give another, by `data` or `data_root`')
    images: list[str] = []
    others, seen, length = 0, set(), len(os.path.join(folder, ''))
    written = Counter() if written is None else written
    for parent, folders, files in os.walk(folder, onerror=_refuse, followlinks=True):
        real = os.path.realpath(parent)
        if real in seen:  # a link to a folder above would be followed forever
            folders.clear()
            continue
        seen.add(real)
        inside, left_out = parent[length:], 0
        if inside and (not RUN.isdisjoint(files) or os.path.basename(parent) == 'vis_data'):
            left_out = sum(is_image(name, extensions) for *_, below in os.walk(parent) for name in below)
            folders[:], files = [], []
        folders[:] = sorted(name for name in folders if name[0] != '.')
        visible = [name for name in files if name[0] != '.']
        found = [name for name in visible if is_image(name, extensions)]
        others += len(visible) - len(found)
        drawn = {name for name in found if name in FIGURES and _is_figure(os.path.join(parent, name))}
        if left_out or drawn:
            written[f'{inside or "."}/ (written by mixcl)'] += left_out or len(drawn)
        images += [os.path.join(inside, name) for name in found if name not in drawn]
    if not images:
        raise UserError(
            f'no images in the folder {folder}: looked in it and below for {" ".join(extensions)}, and saw '
            f'{others + sum(written.values())} other file(s); give another folder, by `data` or `data_root`'
        )
    return sorted(images)


def _is_figure(path: str) -> bool:
    """Whether a file begins as figures of mixcl do."""
    with suppress(OSError), open_regular(path) as file:
        return b'Software\0mixcl' in file.read(200)
    return False


def _refuse(error: OSError) -> NoReturn:
    raise UserError(
        f'{error.filename} cannot be searched for images ({error.strerror}): allow it, or give another folder'
    ) from error
