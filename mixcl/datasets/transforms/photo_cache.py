"""Reduced copies of large photos, in a folder that runs share."""

import math
import os
import shutil
import struct
import zlib
from collections.abc import Callable, Sequence
from contextlib import suppress
from hashlib import blake2b
from pathlib import Path

import cv2

from mixcl.datasets.transforms.crops import FastResizedCrop
from mixcl.datasets.transforms.decoding import WHITE, decode, read_image
from mixcl.files import locked, open_regular, read_regular, written_whole
from mixcl.ranges import POSITIVE, check_range

QUALITY = 92
HEAD = struct.Struct('>II16s')
"""Header before a copy's JPEG: the photo's height, width and identity. The CRC-32 of both ends the file."""


class PhotoCache:
    """Copies of large photos, no larger than their crops need, which take a fraction of the time to decode.

    Views of a large photo are always cut from its copy, even in the epoch that makes the copy or if there is no room to
    store it. So views do not depend on what the folder holds, and the folder may be deleted at any time. Processes
    share it. Copies that a kill damaged, or whose photo changed, are made anew.

    Args:
        crops: those of all views. Photos that have less than twice the pixels of a copy are read as they are.
        folder: place of the copies; None for no copies.
        gigabytes: space for the copies; 2 GB of the disk are left to checkpoints.
    """

    def __init__(self, crops: Sequence[FastResizedCrop], folder: str | None = None, gigabytes: float = 100) -> None:
        check_range('PhotoCache', POSITIVE, gigabytes=gigabytes)
        self.pixels, self.side = max(crop.pixels for crop in crops), max(max(crop.size) for crop in crops)
        self.folder, self.bytes = folder, int(gigabytes * 1e9)
        self._used = Path(folder or '', 'bytes')

    def read(self, results: dict, reduction: Callable[..., int], background: Sequence[int] = WHITE) -> tuple:
        """Read like :func:`read_image`, from the copy if the image is large.

        ``stored_in`` is the file that holds several images. ``reduction`` gets the (height, width) of a copy,
        and that of the photo.
        """
        path, note = results['img_path'], None
        name = f'{self.pixels} {self.side} {QUALITY} {tuple(background)} '.encode() + os.fsencode(os.path.abspath(path))
        if self.folder is None or not (identity := _identity(results.get('stored_in', path), name)):
            return read_image(results, reduction, background)
        digest = blake2b(name, digest_size=16).hexdigest()
        place = Path(self.folder, digest[:2], digest[2:])  # no image extension: it may lie among the photos
        content, full = _stored(place, identity)
        if full is None:
            whole = lambda shape: self._factor(shape) or reduction(shape)  # noqa: E731
            image, note, full = read_image(results, whole, background)
            scale = self._scale(full)
            if scale == 1:
                return image, note, full
            image = cv2.resize(image, [round(side * scale) for side in full[::-1]], interpolation=cv2.INTER_AREA)
            content = cv2.imencode('.jpg', image, [cv2.IMWRITE_JPEG_QUALITY, QUALITY])[1].tobytes()
            record = HEAD.pack(*full, identity) + content
            self._store(place, record + _checksum(record))
        return decode(content, path, lambda shape: reduction(shape, full))[0], note, full

    def advice(self, shapes: Sequence[tuple[int, int]], photos: int, waiting: float) -> str:
        """Return advice, or '', for a run that spends the share ``waiting`` of its time waiting for photos.

        ``shapes`` are the (height, width) of some of the photos; ``photos`` is the number of all.
        """
        if self.folder:
            full = self._counted() >= self.bytes
            return f'`cache={self.folder}` is full: raise `cache_size`, or delete it and make room' if full else ''
        large = [math.prod(shape) for shape in shapes if self._scale(shape) < 1]
        if not large or waiting < 0.2:
            return ''
        gigabytes = len(large) / len(shapes) * photos * self.pixels * 0.35 / 1e9  # a pixel takes 0.2 to 0.45 bytes
        return (
            f'photos of {sum(large) / len(large) / 1e6:.0f} megapixels: {waiting:.0%} of a step waits for data; '
            f'`cache=DIR` would take about {max(gigabytes, 0.1):.1f} GB'
        )

    def _scale(self, shape: tuple[int, int]) -> float:
        """Return the scale from a photo of this (height, width) to its copy; 1 if there is none."""
        scale = max((self.pixels / math.prod(shape)) ** 0.5, self.side / min(shape))
        return scale if scale**2 <= 0.5 and max(shape) < 2**16 else 1.0

    def _factor(self, shape: tuple[int, int]) -> int:
        """Return the factor by which to shrink a large photo before its copy is made; 0 for others."""
        scale = self._scale(shape)
        return max(factor for factor in (1, 2, 4, 8) if factor * scale <= 1) if scale < 1 else 0

    def _store(self, place: Path, content: bytes) -> None:
        """Write a copy if it fits, and count its bytes. After the first that does not fit, none does."""
        with suppress(OSError):  # an unwritable folder costs time, but stops no run
            with locked(self._used):  # without a lock, copies are whole and their count may be too low
                used = self._counted()
                needed = used + len(content) - _size(place)
                fits = needed <= self.bytes and shutil.disk_usage(self._used.parent).free > 2e9
                with written_whole(self._used, on_disk=False) as file:
                    file.write(str(needed if fits else max(used, self.bytes)).encode())
            if fits:
                with written_whole(place, on_disk=False) as file:
                    file.write(content)

    def _counted(self) -> int:
        """Return the stored count of the copies' bytes, or count them if it is missing or damaged."""
        with suppress(OSError):
            if (count := read_regular(self._used, 20)).isdigit():
                return int(count)
        return sum(map(_size, self._used.parent.glob('??/*')))


def _size(path: Path) -> int:
    with suppress(OSError):  # it is missing
        return path.stat().st_size
    return 0


def _checksum(record: bytes | memoryview) -> bytes:
    return zlib.crc32(record).to_bytes(4, 'big')


def _identity(path: str, name: bytes) -> bytes:
    """Return 16 bytes that change with the photo or the name of its copy; b'' if the photo cannot be read."""
    with suppress(OSError), open_regular(path) as file:  # the reading reports it
        photo = os.fstat(file.fileno())
        ends = [os.pread(file.fileno(), 4096, place) for place in (0, max(photo.st_size - 4096, 0))]
        stamp = photo.st_size, photo.st_mtime_ns, photo.st_ctime_ns, photo.st_ino
        return blake2b(b' '.join([name, repr(stamp).encode(), *ends]), digest_size=16).digest()
    return b''


def _stored(place: Path, identity: bytes) -> tuple[bytes, tuple[int, int] | None]:
    """Return the JPEG of a copy and the photo's (height, width), or None without an intact copy of the photo."""
    with suppress(OSError, struct.error):
        content = read_regular(place, 2**30)
        height, width, found = HEAD.unpack_from(content)
        if found == identity and _checksum(memoryview(content)[:-4]) == content[-4:]:
            return content[HEAD.size : -4], (height, width)
    return b'', None
