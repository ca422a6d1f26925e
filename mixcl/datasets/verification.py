"""Reading every image file of data sets ahead of a run, in parallel."""

from collections.abc import Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial

import cv2
from mmengine.dataset import BaseDataset

from mixcl.datasets.transforms.decoding import decode, read_file
from mixcl.datasets.unreadable import ImageNote, UnreadableImage
from mixcl.terminal import progress

FILES_PER_TASK = 32


def image_paths(datasets: Iterable[BaseDataset]) -> list[str]:
    """The image files of data sets, each once; empty where all lie in memory or within other files."""
    infos = (dataset.get_data_info(index) for dataset in datasets for index in range(len(dataset)))
    return list(dict.fromkeys(info['img_path'] for info in infos if 'img_path' in info and 'read_bytes' not in info))


def verify_images(paths: Sequence[str], num_workers: int) -> tuple[list[ImageNote], list[ImageNote]]:
    """Read all files as training would, and show how far it is.

    Returns:
        The unreadable files and the converted ones, in the order of the paths.
    """
    unreadable: list[ImageNote] = []
    converted: list[ImageNote] = []
    with ProcessPoolExecutor(num_workers, initializer=partial(cv2.setNumThreads, 0)) as pool:
        inspected = pool.map(_inspect, paths, chunksize=FILES_PER_TASK)
        for note, is_unreadable in progress(inspected, 'reading', len(paths), 'images'):
            if note is not None:
                (unreadable if is_unreadable else converted).append(note)
    return unreadable, converted


def _inspect(path: str) -> tuple[ImageNote | None, bool]:
    """What there is to say of a file, and whether it is unreadable."""
    try:
        return decode(read_file(path), path)[1], False
    except UnreadableImage as error:
        return error.note, True
