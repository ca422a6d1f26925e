"""Reading every image file of a data set ahead of a run, in parallel."""

from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial

import cv2
from mmengine.config import Config
from mmengine.dataset import BaseDataset
from mmengine.registry import DefaultScope
from mmengine.utils import ProgressBar

from mixcl.configuration.data_roots import data_sets
from mixcl.datasets.folder import ImageFolder
from mixcl.datasets.transforms.decoding import decode, read_file
from mixcl.datasets.unreadable import ImageNote, UnreadableImage
from mixcl.errors import UserError
from mixcl.registry import DATASETS

FILES_PER_TASK = 32


def paths_of_folder(folder: str) -> list[str]:
    """The image files below a folder, sorted.

    Raises:
        UserError: if the folder is missing or holds no images.
    """
    return _paths(ImageFolder(folder))


def paths_of_config(cfg: Config) -> list[str]:
    """The image files of all data sets of a config, each once; empty where all lie in memory.

    Raises:
        UserError: if a data set cannot be loaded.
    """
    paths: dict[str, None] = {}
    for place, config in data_sets(cfg):
        with DefaultScope.overwrite_default_scope('mixcl'):
            try:
                dataset = DATASETS.build(config)
            except UserError:
                raise
            except (AssertionError, OSError, RuntimeError, ValueError) as error:
                raise UserError(f'{place} cannot be loaded: {" ".join(str(error).split())}') from error
        paths |= dict.fromkeys(_paths(getattr(dataset, 'dataset', dataset)))
    return list(paths)


def _paths(dataset: BaseDataset) -> list[str]:
    infos = (dataset.get_data_info(index) for index in range(len(dataset)))
    return [info['img_path'] for info in infos if 'img_path' in info]


def inspect_image(path: str, backend_args: dict | None = None) -> tuple[ImageNote | None, bool]:
    """Read one file as training would: what there is to say of it, and whether it is unreadable."""
    try:
        _, conversion = decode(read_file(path, backend_args), path)
    except UnreadableImage as error:
        return error.note, True
    return (ImageNote(path, conversion, f'{conversion}, converted') if conversion else None), False


def verify_images(paths: Sequence[str], num_workers: int) -> tuple[list[ImageNote], list[ImageNote]]:
    """Read all files, with a progress bar.

    Args:
        paths: of the files.
        num_workers: processes, at least 1.

    Returns:
        The unreadable files and the converted ones, in the order of the paths.
    """
    unreadable, converted = [], []
    bar = ProgressBar(len(paths))
    with ProcessPoolExecutor(num_workers, initializer=partial(cv2.setNumThreads, 0)) as pool:
        for note, is_unreadable in pool.map(inspect_image, paths, chunksize=FILES_PER_TASK):
            if note is not None:
                (unreadable if is_unreadable else converted).append(note)
            bar.update()
    print()
    return unreadable, converted
