"""A digest of the images that a run is trained on."""

import os
from contextlib import suppress
from hashlib import sha256
from typing import Any

import numpy as np

from mixcl.datasets.unreadable import UnreadableImage


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
    shared = os.path.commonprefix(names).rfind(os.sep) + 1  # noqa: RUF071  (it ends with a folder)
    digest = sha256()
    for name in names:
        digest.update(name[shared:].encode(errors='surrogateescape') + b'\0')
    found: dict[str, int | str] = dict(number=len(names), digest=digest.hexdigest())
    found |= dict(contents=contents.hexdigest()) if read else {}
    return found | dict(labels=labels.hexdigest()) if labelled else found


def _name(info: dict) -> str:
    if 'img_path' in info or 'img' not in info:
        return str(info.get('img_path', ''))
    return sha256(np.asarray(info['img']).tobytes()).hexdigest()
