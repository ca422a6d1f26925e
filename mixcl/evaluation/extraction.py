"""Features of many images, written to the disk as they come."""

import numpy as np
from mmengine.logging import print_log
from mmengine.model import BaseModel
from torch.utils.data import DataLoader, Subset

from mixcl.errors import UserError
from mixcl.evaluation.feature_files import FeatureFiles
from mixcl.evaluation.features import encode, evaluating
from mixcl.evaluation.image_sources import ReadableImages, collate_readable

ENCODER = 'online'


def extract_to_files(
    files: FeatureFiles, model: BaseModel, images: ReadableImages, batch_size: int, num_workers: int, save_every: int
) -> None:
    """Encode the images that are not done yet, in order; the memory for features does not grow with their number.

    The features of an image depend neither on batch size nor on the number of workers: all passes through the model
    are of one size (:data:`mixcl.evaluation.features.IMAGES_PER_PASS`). Another device or another build of torch gives
    other last digits. An image that cannot be read gets a row of NaN and is named in the log.

    Args:
        files: where to; says what is done.
        model: a :class:`~mixcl.evaluation.models.frozen_encoder.FrozenEncoder`, on its device.
        images: as many as ``files`` has names.
        batch_size: images that are loaded together.
        num_workers: processes that load.
        save_every: batches between two writes; an interruption loses at most so many.

    Raises:
        UserError: if no image can be read, or they are not of one size.
    """
    if files.done == len(images):
        return
    pieces: list[np.ndarray] = []
    unreadable: list[tuple[str, str]] = []
    with evaluating(model):
        width = _width(model, images)
        rest = Subset(images, range(files.done, len(images)))
        loader = DataLoader(rest, batch_size, num_workers=num_workers, collate_fn=collate_readable)
        for number, (indices, batch, reasons) in enumerate(loader, start=1):
            rows = np.full((len(indices), width), np.nan, dtype=np.float32)
            if batch is not None:
                rows[[index not in reasons for index in indices]] = encode(model, batch, [ENCODER])[ENCODER].numpy()
            pieces.append(rows)
            unreadable += [(files.names[index], reason) for index, reason in reasons.items()]
            if number % save_every == 0 or number == len(loader):
                files.append(np.concatenate(pieces), unreadable)
                _log(files, unreadable)
                pieces, unreadable = [], []


def _width(model: BaseModel, images: ReadableImages) -> int:
    """Length of the features; also shows, before long, that images can be read and encoded at all."""
    for index in range(len(images)):
        _, batch, reasons = collate_readable([images[index]])
        if not reasons:
            return encode(model, batch, [ENCODER])[ENCODER].shape[1]
    raise UserError(f'none of the {len(images)} images can be read; the last: {reasons[index]}')


def _log(files: FeatureFiles, unreadable: list[tuple[str, str]]) -> None:
    for name, reason in unreadable:
        print_log(f'unreadable image, its features are NaN: {name} ({reason})')
    print_log(f'{files.done} of {len(files.names)} images done')
