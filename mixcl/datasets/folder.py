"""A folder of images."""

import os
import re
import sys
from collections import Counter
from collections.abc import Sequence
from typing import Any, NoReturn

from mixcl.datasets.own_images import Images, OwnImages, parts_by_name
from mixcl.errors import UserError
from mixcl.files import open_regular
from mixcl.registry import DATASETS

EXTENSIONS = (
    *('.jpg', '.jpeg', '.jpe', '.jfif', '.png', '.webp', '.gif', '.bmp', '.dib', '.tif', '.tiff'),
    *('.ppm', '.pgm', '.pbm', '.pnm', '.avif', '.jp2', '.j2k', '.tga', '.pcx'),
)

CHECKPOINT = re.compile(r'(epoch|iter|best)_.*\.pth')
FIGURES = {'mix', 'views', 'attention', 'similarity', 'keys', 'neighbours', 'map', 'curves', 'mix_preview'}
"""Names, without .png, of figures of mixcl for which no other is given."""


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
        names = self._names()
        given = parts_by_name({name.partition(os.sep)[0] for name in names if os.sep in name})
        beside, depth = ('extra', 1) if any(given.values()) else ('', 0)
        labels = [_folder(name, depth) for name in names]
        return Images(names, labels, [given.get(name.partition(os.sep)[0], beside) for name in names], [])

    def _names(self) -> list[str]:
        self.no_images.clear()
        return images_below(self.source, self.extensions, self.no_images)


@DATASETS.register_module()
class ImageFolder(FolderImages):
    """The images of :class:`FolderImages`, without labels and without a split; the folder is ``data_root``."""

    def __init__(self, data_root: str, **kwargs: Any) -> None:
        super().__init__(data_root, **kwargs)

    def images(self) -> Images:
        names = self._names()
        return Images(names, [None] * len(names), [''] * len(names), [])


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
    What mixcl wrote is left out, and counted in ``written``: whole folders of runs, figures, and pictures for
    TensorBoard. In a folder that is searched itself, a run leaves its images alone.

    Raises:
        UserError: if the folder is missing or holds no images; if it, or a folder below, cannot be read.
    """
    if not os.path.isdir(folder):
        raise UserError(f'the image folder {folder} does not exist: give another, by `data` or `data_root`')
    images: list[str] = []
    others, seen, length, run = 0, set(), len(os.path.join(folder, '')), ''
    written = Counter() if written is None else written
    for parent, folders, files in os.walk(folder, onerror=_refuse, followlinks=True):
        real = os.path.realpath(parent)
        if real in seen:  # a link to a folder above would be followed forever
            folders.clear()
            continue
        seen.add(real)
        folders[:] = sorted(name for name in folders if name[0] != '.')
        visible = [name for name in files if name[0] != '.']
        found = [name for name in visible if is_image(name, extensions)]
        rest, inside = {*visible} - {*found}, parent[length:]
        others += len(rest)
        if not run or not parent.startswith(run):  # else this is a folder of the run that was found last
            run = (
                os.path.join(parent, '') if inside and (_is_run(rest) or os.path.basename(inside) == 'vis_data') else ''
            )
        drawn = [name for name in found if run or (name[:-4] in FIGURES and _is_figure(os.path.join(parent, name)))]
        if drawn:
            written[f'{inside.partition(os.sep)[0] or "."}/ (written by {"a run" if run else "mixcl"})'] += len(drawn)
            found = sorted({*found} - {*drawn})
        images += [os.path.join(inside, name) for name in found]
    if not images:
        raise UserError(
            f'no images in the folder {folder}: looked in it and below for {" ".join(extensions)}, and saw '
            f'{others + sum(written.values())} other file(s); give another folder, by `data` or `data_root`'
        )
    return sorted(images)


def _is_run(names: set[str]) -> bool:
    """Whether a folder with these files is that of a run: locked by one, or with checkpoints and a config."""
    trained = any(map(CHECKPOINT.fullmatch, names))
    return 'run.lock' in names or (trained and any(name.endswith(('.py', 'last_checkpoint')) for name in names))


def _is_figure(path: str) -> bool:
    """Whether a file begins as figures of mixcl do."""
    try:
        with open_regular(path) as file:
            return b'Software\0mixcl' in file.read(200)
    except OSError:
        return False


def _refuse(error: OSError) -> NoReturn:
    raise UserError(
        f'{error.filename} cannot be searched for images ({error.strerror}): allow it, or give another folder'
    ) from error
