"""Reading every image file of data sets ahead of a run, in parallel."""

from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from typing import NamedTuple

import cv2
from mmengine.dataset import BaseDataset

from mixcl.datasets.transforms.decoding import decode, read_file
from mixcl.datasets.unreadable import ImageNote, UnreadableImage
from mixcl.terminal import progress

FILES_PER_TASK = 32


class ImageFile(NamedTuple):
    """The name of an image, and the function that reads it where it lies within another file."""

    path: str
    read: Callable[[], bytes] | None


def image_files(datasets: Iterable[BaseDataset]) -> list[ImageFile]:
    """The image files of data sets, each once; empty where all lie in memory."""
    infos = (dataset.get_data_info(index) for dataset in datasets for index in range(len(dataset)))
    found = {info['img_path']: info.get('read_bytes') for info in infos if 'img_path' in info}
    return [ImageFile(*item) for item in found.items()]


def verify_images(files: Sequence[ImageFile], num_workers: int) -> tuple[list[ImageNote], list[ImageNote]]:
    """Read all files as training would, and show how far it is.

    Returns:
        The unreadable files and the converted ones, in the order of the files.
    """
    unreadable: list[ImageNote] = []
    converted: list[ImageNote] = []
    with ProcessPoolExecutor(num_workers, initializer=partial(cv2.setNumThreads, 0)) as pool:
        inspected = pool.map(_inspect, files, chunksize=FILES_PER_TASK)
        for note, is_unreadable in progress(inspected, 'reading', len(files), 'images'):
            if note is not None:
                (unreadable if is_unreadable else converted).append(note)
    return unreadable, converted


def _inspect(file: ImageFile) -> tuple[ImageNote | None, bool]:
    """What there is to say of a file, and whether it is unreadable."""
    try:
        return decode(read_file(file.path, read=file.read), file.path)[1], False
    except UnreadableImage as error:
        return error.note, True
