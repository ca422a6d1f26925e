"""Features of many images on disk, split into files so that an interrupted run can continue."""

import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from mmengine.dataset import default_collate
from mmengine.model import BaseModel
from torch.utils.data import DataLoader, Subset

from mixcl.datasets import KeyedDataset
from mixcl.datasets.unreadable import ImageNote
from mixcl.errors import UserError
from mixcl.evaluation.features import encode, encode_all, with_progress
from mixcl.evaluation.functional.feature_checks import check_finite
from mixcl.files import UNFINISHED, check_writable, open_regular, read_regular, written_whole

META = 'meta.json'
FILE = 'features_{:05d}.npz'


def open_folder(folder: Path, identity: dict[str, Any]) -> None:
    """Start a folder of features, or check that it can be continued; ``meta.json`` holds what determines the features.

    Raises:
        UserError: if the folder cannot be written, or holds other files, or features of another identity.
    """
    check_writable(folder, '`out`')
    identity, meta = json.loads(json.dumps(identity)), folder / META
    if all(path.suffix == UNFINISHED for path in folder.iterdir()):
        with written_whole(meta) as file:
            file.write(json.dumps(identity, indent=2).encode())
    try:
        stored = dict(json.loads(read_regular(meta, 2**26)))
    except (OSError, ValueError, TypeError, RecursionError) as error:
        raise UserError(f'`out={folder}` holds something other than features; give a new or an empty folder') from error
    changed = [name for name, value in identity.items() if stored.get(name) != value]
    if changed:
        raise UserError(
            f'`out={folder}` holds features of another {changed[0]} (compare {META} in it); give another `out`, or '
            'remove it to start again'
        )


def extract_to_files(
    folder: Path,
    model: BaseModel,
    dataset: KeyedDataset,
    images_per_file: int,
    batch_size: int,
    num_workers: int,
    half: bool = False,
) -> int:
    """Write the features of a data set to ``features_00000.npz``, ``features_00001.npz``, ...; existing files stay.

    Each file covers ``images_per_file`` images. It holds ``features`` (n, D), or (n, h, w, C) of an encoder of tokens,
    float32 or, for ``half``, float16; ``names`` (n,), ``labels`` (n,) int64 and ``classes`` (n,), their names, if there
    are labels, and ``unreadable`` (n,): why an image could not be read (its features are NaN), else ''.
    The model is an :class:`~mixcl.weights.encoder.Encoder`, on its device.

    Returns:
        number of unreadable images; the log names them.

    Raises:
        UserError: if no image can be read, the images differ in size, their features are not finite, or an existing
            file is damaged or has other images or labels.
    """
    names, unreadable = np.array(names_of(dataset)), 0
    known: dict[str, np.ndarray] = dict(names=names)
    if (labels := labels_of(dataset)) is not None:
        known |= dict(labels=labels, classes=class_names(dataset, labels))
    shapes: set[tuple[int, ...]] = set()
    for number, start in enumerate(range(0, len(names), images_per_file)):
        path, rows = folder / FILE.format(number), slice(start, start + images_per_file)
        hint = f' (as before; remove {path} to read it again)' if path.exists() else ''
        if not path.exists():
            subset = Subset(dataset, range(len(names))[rows])
            loader = DataLoader(subset, batch_size, num_workers=num_workers, collate_fn=collate_one_size)
            arrays = _encoded(model, loader, torch.float16 if half else torch.float32) | {
                what: values[rows] for what, values in known.items()
            }
            with written_whole(path) as file:
                np.savez(file, **arrays)
        stored = _read(path)
        for what in ('names', 'labels', 'classes'):
            if not np.array_equal(stored.get(what, ()), known[what][rows] if what in known else ()):
                raise UserError(f'{path} holds features of images with other {what}; give another `out`, or remove it')
        shapes.add(stored['features'].shape[1:])
        if len(shapes) > 1:
            raise UserError(f'{path} has features of another width than those before; give another `out`, or remove it')
        for name, reason in zip(names[rows], stored['unreadable'], strict=True):
            if reason:
                unreadable += 1
                print(f'unreadable image, its features are NaN: {ImageNote(name, "", reason)}{hint}')
    if (path := folder / FILE.format(-(-len(names) // images_per_file))).exists():
        raise UserError(
            f'{path} holds features of images that are no longer in the data set; give another `out`, or remove it'
        )
    return unreadable


def read_features(folder: str | Path) -> dict[str, np.ndarray]:
    """Read all that :func:`extract_to_files` wrote to a folder, by the same names and in data set order.

    Raises:
        UserError: if there are no features, a file is damaged, or the files do not belong together.
    """
    paths = sorted(Path(folder).glob('features_*.npz'))
    if not paths:
        raise UserError(f'{folder} holds no features; make them with mixcl embed')
    for number, path in enumerate(paths):
        if path.name != FILE.format(number):
            raise UserError(f'{folder} has no {FILE.format(number)}, but {path.name}; extract the features again')
    parts = [_read(path) for path in paths]
    for path, part in zip(paths, parts, strict=True):
        if part.keys() != parts[0].keys() or part['features'].shape[1:] != parts[0]['features'].shape[1:]:
            raise UserError(f'{path} has other columns than {paths[0].name}; extract the features again')
    return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}


def _read(path: Path) -> dict[str, np.ndarray]:
    try:
        with open_regular(path) as file, np.load(file) as arrays:
            found = {name: arrays[name] for name in ('features', 'names', 'unreadable', *arrays.files)}
        if problem := _misfit(found):
            raise ValueError(problem)
    except Exception as error:  # damaged contents make numpy raise errors of any kind
        raise UserError(f'{path} is damaged ({error}); remove it and run the same command again') from error
    return found


def _misfit(arrays: dict[str, np.ndarray]) -> str:
    """Say which array of a file does not fit the others; return '' if all do."""
    features, columns = arrays['features'], dict(names='U', unreadable='U', labels='i')
    if features.ndim not in (2, 4) or features.dtype not in (np.float32, np.float16):
        return f'features of shape {features.shape} and type {features.dtype}'
    for name, kind in columns.items():
        column = arrays.get(name)
        if column is not None and (column.shape != (len(features),) or column.dtype.kind != kind):
            return f'{len(features)} rows, but {name} of shape {column.shape} and type {column.dtype}'
    readable = arrays['unreadable'] == ''
    rows = features.reshape(len(features), -1)
    wrong = np.where(readable, ~np.isfinite(rows).all(axis=1), ~np.isnan(rows).all(axis=1))
    return f'the features of {arrays["names"][wrong][0]} are not finite, or should be NaN' if wrong.any() else ''


def _encoded(model: BaseModel, loader: DataLoader, dtype: torch.dtype) -> dict[str, np.ndarray]:
    def step(batch: dict) -> dict:
        return dict(online=encode(model, batch, ['online'])['online'].to(dtype), why=_reasons(batch))

    found = encode_all(model, with_progress(loader), step)
    rows, reasons = torch.cat(found['online']), np.concatenate(found['why'])
    if (reasons == '').any():
        check_finite(image=rows[torch.from_numpy(reasons == '')])
    rows[torch.from_numpy(reasons != '')] = torch.nan
    return dict(features=rows.numpy(), unreadable=reasons)


def _reasons(batch: dict) -> np.ndarray:
    """Return why each image could not be read, or ''."""
    # KeyedDataset replaces an unreadable image by another one; the first note is about the original.
    notes = [sample.get('unreadable') for sample in batch['data_samples']]
    return np.array([note[0].reason if note else '' for note in notes])


def names_of(dataset: KeyedDataset) -> list[str]:
    """Return a name per image: its path relative to the data set's folder, or its number if it has no file."""
    root = dataset.dataset.data_root or '.'
    paths = (dataset.get_data_info(index).get('img_path') for index in range(len(dataset)))
    return [str(number) if path is None else os.path.relpath(path, root) for number, path in enumerate(paths)]


def labels_of(dataset: KeyedDataset) -> np.ndarray | None:
    """Return the classes (N,) int64; None if images have no label or several."""
    labels = [dataset.get_data_info(index).get('gt_label') for index in range(len(dataset))]
    return np.array(labels, dtype=np.int64) if all(map(np.isscalar, labels)) else None


def class_names(dataset: KeyedDataset, labels: np.ndarray) -> np.ndarray:
    """Return the name of each label's class, or its number where the data set has no name; '' where it is negative."""
    names = dict(enumerate(map(str, dataset.metainfo.get('classes') or ())))
    return np.array(['' if label < 0 else names.get(label, str(label)) for label in labels.tolist()], dtype=str)


def collate_one_size(samples: Sequence[dict]) -> dict:
    """Collate by mmengine's ``default_collate``, but refuse images of several sizes in a readable sentence."""
    if len({sample['inputs'].shape for sample in samples}) > 1:
        raise UserError(
            'the images are not of one size after preprocessing; give `image_size=PIXELS`, which crops them'
        )
    return default_collate(samples)
