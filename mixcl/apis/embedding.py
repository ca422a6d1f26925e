"""Encoder of a checkpoint, and features of images, for code that uses nothing else of mixcl."""

import warnings
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from mixcl.apis.arguments import named
from mixcl.datasets.folder import images_below
from mixcl.datasets.unreadable import UnreadableImage
from mixcl.errors import UserError
from mixcl.evaluation.feature_files import collate_one_size
from mixcl.evaluation.features import encode_all
from mixcl.recipes.subject import read_subject
from mixcl.terminal import progress
from mixcl.weights import Encoder
from mixcl.weights.preprocess import Picture, Preprocess


@named()
def load_backbone(
    path: str | Path, encoder: str | None = None, config: str | Path | None = None, image_size: int | None = None
) -> Encoder:
    """Load the encoder of a checkpoint, in evaluation mode on the CPU: a module from images (B, 3, H, W) to (B, C).

    Args:
        path: a checkpoint, or the folder of a run for its newest checkpoint.
        encoder: 'online', or 'target' for the momentum encoder; by default the one that ``mixcl.export`` takes.
        config: file or name of the config that the checkpoint was trained with, in place of the one in it. Modules
            that this file names are imported.
        image_size: size of the images that ``preprocess`` makes; by default as the config evaluates, else trains.

    Raises:
        UserError: if the checkpoint cannot be read, or does not say what its weights belong to.
    """
    subject = read_subject(str(path), None if config is None else str(config))
    found = subject.encoder(encoder)
    found.preprocess = Preprocess(subject.pipeline(image_size), subject.settings()['data_preprocessor'])
    return found


@named(load_backbone, without=('path',))
def embed(
    path: str | Path | Encoder,
    images: str | Path | Iterable[Picture],
    *,
    batch_size: int = 64,
    device: str | None = None,
    tokens: bool = False,
    **options: Any,
) -> np.ndarray:
    """Compute features of images, or of every cell of them.

    Args:
        path: as for :func:`load_backbone`, or the encoder that it returned.
        images: file names, arrays and Pillow images, in any mixture; or a folder, for :func:`images_in` it.
        batch_size: number of images encoded at once.
        device: such as 'cuda'; by default the GPU, if there is one.
        tokens: compute a vector for each cell, see :meth:`~mixcl.weights.encoder.Encoder.tokens`.
        **options: options of :func:`load_backbone`.

    Returns:
        (N, C) float32, or (N, h, w, C) of ``tokens``, in the order of the images. Rows of files that cannot be decoded
        are NaN; a warning names them.

    Raises:
        UserError: as in :func:`load_backbone`; also if something is no image, or none can be decoded.
    """
    if isinstance(images, str | Path) and Path(images).is_dir():
        images = images_in(images)
    if isinstance(images, Picture) or not isinstance(images, Iterable):
        raise UserError('images is a folder, or a list of files, arrays or Pillow images; put a single one into a list')
    if isinstance(path, Encoder) and options:
        raise UserError(f'{", ".join(options)} must be given to load_backbone, which has already loaded {path.source}')
    encoder = path if isinstance(path, Encoder) else load_backbone(path, **options)
    items, readable = list(images), list[int]()
    encoder.to(device or ('cuda' if torch.cuda.is_available() else 'cpu'))
    batches = _batches(encoder.preprocess, items, batch_size, readable)
    shown = progress(batches, f'features of {len(items)} images', -(-len(items) // batch_size))
    wanted, prepare = encoder.tokens if tokens else encoder, encoder.data_preprocessor
    parts = encode_all(encoder, shown, lambda batch: dict(rows=wanted(prepare(batch, False)['inputs']).float().cpu()))
    if items and not readable:
        raise UserError(f'none of the {len(items)} images can be read, the first is {items[0]}')
    found = torch.cat(parts['rows']) if parts else torch.zeros(0, 0)
    features = np.full((len(items), *found.shape[1:]), np.nan, dtype=np.float32)
    features[readable] = found.numpy()
    return features


def images_in(folder: str | Path) -> list[Path]:
    """Return the image files in a folder and below, sorted, as pretraining finds them.

    Raises:
        UserError: if there are none.
    """
    return [Path(folder, name) for name in images_below(str(folder))]


def _batches(preprocess: Preprocess, items: list, batch_size: int, readable: list[int]) -> Iterator[dict]:
    """Yield batches of the images that can be read, and append their indices to ``readable``."""

    def packed(image: Picture) -> Tensor | None:
        try:
            return preprocess.packed(image)
        except UnreadableImage as error:
            warnings.warn(f'no features of {error}', stacklevel=2)
            return None

    with ThreadPoolExecutor() as pool:
        for start in range(0, len(items), batch_size):
            parts = enumerate(pool.map(packed, items[start : start + batch_size]), start)
            found = {number: dict(inputs=image) for number, image in parts if image is not None}
            readable += found
            if found:
                yield collate_one_size(list(found.values()))
