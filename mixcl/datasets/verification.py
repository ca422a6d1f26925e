"""Reading every image file of data sets ahead of a run, in parallel."""

from collections.abc import Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from typing import NamedTuple

import cv2
from mmengine.dataset import BaseDataset

from mixcl.datasets.keyed_dataset import KeyedDataset
from mixcl.datasets.transforms.channels import LoadChannels
from mixcl.datasets.transforms.decoding import has_transparency, shown_on
from mixcl.datasets.transforms.views import LoadImage
from mixcl.datasets.unreadable import ImageNote, UnreadableImage
from mixcl.errors import UserError
from mixcl.terminal import progress

FILES_PER_TASK = 32


class ImageFile(NamedTuple):
    """The transform that reads an image, and the image's place."""

    load: LoadImage | LoadChannels
    place: dict


def image_files(datasets: Iterable[BaseDataset]) -> list[ImageFile]:
    """Return the image files of data sets, each once; none for images in memory."""
    files: dict[str, ImageFile] = {}
    for dataset in datasets:
        steps = (step for step in dataset.pipeline.transforms if isinstance(step, LoadImage | LoadChannels))
        load = next(steps, LoadImage())
        for info in map(dataset.get_data_info, range(len(dataset))):
            if 'img_path' in info:
                place = {name: info[name] for name in ('img_path', 'read_bytes') if name in info}
                files[info['img_path']] = ImageFile(load, place)
    return list(files.values())


def transparency(dataset: KeyedDataset, most: int = 4000) -> str:
    """Say how many images have transparency, and what they are shown on; '' if none has.

    At most ``most`` files are opened, evenly spread, which takes about a second.
    """
    loads = (getattr(step, 'load', step) for step in dataset.pipelines[0])
    load = next((step for step in loads if isinstance(step, LoadImage)), None)
    chosen = range(0, len(dataset), -(-len(dataset) // most)) if load else ()
    transparent = sum(has_transparency(dataset.get_data_info(number)) for number in chosen)
    counted = f'{transparent:,} of {len(chosen):,} images looked at have transparency'
    return f'{counted}, {shown_on(load.background)}' if load and transparent else ''


def verify_images(files: Sequence[ImageFile], num_workers: int) -> tuple[list[ImageNote], list[ImageNote]]:
    """Read all files as training would, and show the progress.

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
    """Return the note on a file, if there is one, and whether the file is unreadable."""
    try:
        return file.load.transform(file.place).get('conversion'), False
    except UnreadableImage as error:
        return error.note, True
    except UserError as error:  # for other channels or values than the config's
        return ImageNote(file.place['img_path'], 'not as the config says', str(error)), True
