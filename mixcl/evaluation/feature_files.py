"""Features of many images on the disk: a file per so many images, so that an interrupted run goes on."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from mmengine.dataset import BaseDataset
from mmengine.logging import print_log
from mmengine.model import BaseModel
from torch.utils.data import DataLoader, Subset

from mixcl.errors import UserError
from mixcl.evaluation.features import encode, evaluating
from mixcl.evaluation.image_sources import ReadableImages, collate_readable, labels_of, names_of
from mixcl.files import check_writable, written_whole

META = 'meta.json'
ENCODER = 'online'


def open_folder(folder: Path, identity: dict[str, Any]) -> None:
    """Begin a folder of features, or see that it can be continued.

    Args:
        folder: made where it does not exist.
        identity: what decides the features, as JSON; stored in ``meta.json``.

    Raises:
        UserError: if the folder cannot be written, or holds other files, or features of another identity.
    """
    identity, meta = json.loads(json.dumps(identity)), folder / META
    if not meta.is_file():
        if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
            raise UserError(f'--out {folder} holds something else already; give a new or an empty folder')
        check_writable(folder, '--out')
        with written_whole(meta) as file:
            file.write(json.dumps(identity, indent=2).encode())
        return
    try:
        stored = dict(json.loads(meta.read_text()))
    except (ValueError, TypeError) as error:
        raise UserError(f'--out {folder} has a {META} that is not of features; give another folder') from error
    for name, value in identity.items():
        if stored.get(name) != value:
            raise UserError(
                f'--out {folder} holds features of another {name} ({_short(stored.get(name))}, now {_short(value)}); '
                'give another --out, or remove it to start again'
            )


def extract_to_files(
    folder: Path, model: BaseModel, dataset: BaseDataset, images_per_file: int, batch_size: int, num_workers: int
) -> int:
    """Write ``features_00000.npz``, ``features_00001.npz``, ... of a data set; those that are there stay.

    Each file holds ``features`` (n, D) float32, ``names`` (n,), ``labels`` (n,) int64 where there are labels, and
    ``unreadable`` (n,): why an image could not be read, else empty. Features of unreadable images are NaN. A file
    appears whole or not at all; the memory for features is that of one file.

    Args:
        folder: where to.
        model: a :class:`~mixcl.evaluation.models.FrozenEncoder`, on its device.
        dataset: the images.
        images_per_file: n, but for the last file.
        batch_size: images that are encoded together.
        num_workers: processes that load.

    Returns:
        how many of all images are unreadable; the log names them.

    Raises:
        UserError: if no image can be read, they are not of one size, or a file that is there is damaged.
    """
    images, names, labels = ReadableImages(dataset), np.array(names_of(dataset)), labels_of(dataset)
    unreadable, width = 0, 0
    with evaluating(model):
        for number, start in enumerate(range(0, len(images), images_per_file)):
            path, part = folder / f'features_{number:05d}.npz', slice(start, start + images_per_file)
            if path.exists():
                unreadable += int((_read(path, 'unreadable')['unreadable'] != '').sum())
                continue
            width = width or _width(model, images)
            rows = Subset(images, range(len(images))[part])
            loader = DataLoader(rows, batch_size, num_workers=num_workers, collate_fn=collate_readable)
            features, reasons = (np.concatenate(parts) for parts in zip(*_encoded(model, loader, width), strict=True))
            arrays = dict(names=names[part], unreadable=reasons) | ({} if labels is None else dict(labels=labels[part]))
            with written_whole(path) as file:
                np.savez(file, features=features, **arrays)
            for name, reason in zip(names[part], reasons, strict=True):
                if reason:
                    unreadable += 1
                    print_log(f'unreadable image, its features are NaN: {name} ({reason})')
            print_log(f'{start + len(reasons)} of {len(images)} images done')
    return unreadable


def read_features(folder: str | Path) -> dict[str, np.ndarray]:
    """All that :func:`extract_to_files` has written to a folder, in data set order.

    Returns:
        ``features`` (N, D) float32, ``names`` (N,), ``unreadable`` (N,), and ``labels`` (N,) where there are labels.

    Raises:
        UserError: if there is nothing, or a file is damaged.
    """
    parts = [_read(path) for path in sorted(Path(folder).glob('features_*.npz'))]
    if not parts:
        raise UserError(f'{folder} holds no features; make them with tools/extract_features.py')
    return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}


def _read(path: Path, *names: str) -> dict[str, np.ndarray]:
    try:
        with np.load(path) as arrays:
            return {name: arrays[name] for name in names or arrays.files}
    except Exception as error:  # numpy raises whatever the contents lead to
        raise UserError(f'{path} is damaged ({error}); remove it and run the same command again') from error


def _encoded(model: BaseModel, loader: DataLoader, width: int) -> Iterator[tuple[np.ndarray, list[str]]]:
    """Features (n, D) and reasons (n,) of each batch."""
    for batch, reasons in loader:
        rows = np.full((len(reasons), width), np.nan, dtype=np.float32)
        if batch is not None:
            rows[[not reason for reason in reasons]] = encode(model, batch, [ENCODER])[ENCODER].numpy()
        yield rows, reasons


def _width(model: BaseModel, images: ReadableImages) -> int:
    """Length of the features; also shows, before long, that images can be read and encoded at all."""
    for index in range(len(images)):
        batch, (reason,) = collate_readable([images[index]])
        if batch is not None:
            return encode(model, batch, [ENCODER])[ENCODER].shape[1]
    raise UserError(f'none of the {len(images)} images can be read; the last: {reason}')


def _short(value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value)
    return text if len(text) <= 60 else f'{text[:57]}...'
