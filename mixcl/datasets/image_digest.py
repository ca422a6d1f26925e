"""A digest of the images that a run is trained on, and their names, by which a later run says how its own differ."""

import gzip
import os
import zlib
from collections.abc import Sequence
from contextlib import suppress
from hashlib import sha256
from typing import Any

import numpy as np

from mixcl.datasets.unreadable import UnreadableImage
from mixcl.errors import printable
from mixcl.files import open_regular, written_whole

NAMES = 'images.gz'
"""File in a work dir with the names of the training images, each followed by a null byte."""


def image_digest(dataset: Any, labelled: bool = False) -> dict[str, int | str]:
    """Return the ``number`` of images of a data set, and a ``digest`` of their names in order, as 64 hex digits.

    Names are relative to the folder that all images share, so that a data set may move. Images in memory count by their
    pixels. Where images lie in larger files, whose names for them may be numbers, a digest of the ``contents`` of about
    eight is added; with ``labelled``, for runs that learn from labels, one of the ``labels``. ``dataset`` is one of
    mmengine's kind, whose annotations are unpacked: 1.2 million names take seconds.
    """
    names, labels, contents, read = [], sha256(), sha256(), 0
    for index, info in enumerate(map(dataset.get_data_info, range(len(dataset)))):
        names.append(_name(info))
        if index % max(len(dataset) // 8, 1) == 0 and 'read_bytes' in info:
            read += 1
            with suppress(UnreadableImage, OSError):  # the run says more about it
                contents.update(info['read_bytes']())
        labels.update(f'{info.get("gt_label")}\0'.encode())
    found: dict[str, int | str] = dict(number=len(names), digest=_digest(names))
    found |= dict(contents=contents.hexdigest()) if read else {}
    return found | dict(labels=labels.hexdigest()) if labelled else found


def image_names(dataset: Any) -> list[str]:
    """Return the names of the images of a data set, in order, relative to its root; see :func:`image_digest`."""
    root = os.path.join(getattr(getattr(dataset, 'dataset', dataset), 'data_root', None) or '', '')
    return [_name(dataset.get_data_info(index)).removeprefix(root) for index in range(len(dataset))]


def write_names(work_dir: str | os.PathLike, dataset: Any) -> None:
    """Write the names of images in files into a work dir, unless this fails: a million take 4 MB and seconds."""
    if 'img_path' in dataset.get_data_info(0):
        content = b''.join(name.encode(errors='surrogateescape') + b'\0' for name in image_names(dataset))
        with suppress(OSError), written_whole(os.path.join(work_dir, NAMES)) as file:
            file.write(gzip.compress(content, 1))


def differing_names(work_dir: str | os.PathLike, digest: object, dataset: Any) -> str:
    """Return the end of a message: a few names that are new or gone since :func:`write_names` wrote those of a digest.

    It is empty if the file cannot be read or holds other names.
    """
    try:
        with open_regular(os.path.join(work_dir, NAMES)) as file, gzip.open(file) as content:
            *then, _ = content.read().decode(errors='surrogateescape').split('\0')
    except (OSError, EOFError, zlib.error, ValueError):
        return ''
    now, told = image_names(dataset), ''
    for word, names in (('new', {*now} - {*then}), ('gone', {*then} - {*now})) if _digest(then) == digest else ():
        told += f'; {word}: {", ".join(map(printable, sorted(names)[:3]))}' if names else ''
        told += f' and {len(names) - 3} more' if len(names) > 3 else ''
    return told


def _digest(names: Sequence[str]) -> str:
    digest, shared = sha256(), os.path.commonprefix(names).rfind(os.sep) + 1  # noqa: RUF071  (it ends with a folder)
    for name in names:
        digest.update(name[shared:].encode(errors='surrogateescape') + b'\0')
    return digest.hexdigest()


def _name(info: dict) -> str:
    if 'img_path' in info or 'img' not in info:
        return str(info.get('img_path', ''))
    return sha256(np.asarray(info['img']).tobytes()).hexdigest()
