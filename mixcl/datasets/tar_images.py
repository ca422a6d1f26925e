"""Images in tar files."""

import glob
import os
import re
import tarfile
from collections.abc import Iterator
from functools import cache, lru_cache, partial
from json import loads
from typing import BinaryIO, NamedTuple

from mixcl.datasets.folder import is_image
from mixcl.datasets.own_images import OwnImage, OwnImages, given_parts
from mixcl.errors import UserError
from mixcl.registry import DATASETS

RANGE = re.compile(r'\{(\d+)\.\.(\d+)\}')


class Member(NamedTuple):
    """An image in a tar file: its name, where its bytes lie, and its label."""

    name: str
    offset: int
    size: int
    label: str | None


@DATASETS.register_module()
class TarImages(OwnImages):
    """The images in the tar files of a pattern, read in any order: WebDataset's layout.

    A file ``key.jpg`` (any common format) has its label in ``key.cls`` (a number or a word) or under ``label``, ``cls``
    or ``class`` in ``key.json``. Headers are read once per process; images are then read where they lie, without
    unpacking. The file names of the shards give the split where some begin with ``train`` and others with ``val`` or
    ``test``.

    Args:
        source: paths of tar files without compression, with ``*`` and ranges: ``shards/train-{000..099}.tar``.
        **kwargs: of OwnImages.

    Raises:
        UserError: if no file fits, one is damaged or compressed, or they hold no images.

    Source: the layout, https://github.com/webdataset/webdataset.
    """

    def images(self) -> list[OwnImage]:
        """One per image file, in the order of the shards."""
        shards = [path for pattern in _expanded(self.source) for path in _files(pattern)]
        words = [re.split('[^a-z]', os.path.basename(shard).lower())[0] for shard in shards]
        parts = given_parts(words)
        images = []
        for shard, word in zip(shards, words, strict=True):
            status = os.stat(shard)
            for name, offset, size, label in index_shard(shard, status.st_size, status.st_mtime_ns):
                read = partial(read_member, shard, status.st_mtime_ns, offset, size)
                images.append(OwnImage(name, label, parts[word], dict(img_path=f'{shard}/{name}', read_bytes=read)))
        if not images:
            raise UserError(f'no images in the {len(shards)} tar file(s) of {self.source}; give other files')
        return images


@cache
def index_shard(path: str, size: int, modified: int) -> tuple[Member, ...]:
    """The images of a tar file, which is remembered until its size or time of change is another one.

    Raises:
        UserError: if it is not a whole tar file.
    """
    found: list[tuple[str, int, int]] = []
    labels: dict[str, str] = {}
    try:
        if size % tarfile.BLOCKSIZE:
            raise tarfile.ReadError('it ends within a block')  # which tarfile may take for the end
        with tarfile.open(path, 'r:') as shard:
            for member in shard:
                key, ending = _key_and_ending(member.name.removeprefix('./'))
                if member.isfile() and key and is_image(ending):
                    found.append((member.name.removeprefix('./'), member.offset_data, member.size))
                elif member.isfile() and ending in ('.cls', '.json'):
                    label = _label(read_member(path, modified, member.offset_data, member.size), ending)
                    labels |= {key: label} if label else {}
    except (tarfile.TarError, OSError, ValueError) as error:
        raise UserError(
            f'{path} cannot be read as a tar file without compression ({" ".join(str(error).split())}): unpack it '
            'where it is compressed, or write it again'
        ) from error
    return tuple(Member(*image, labels.get(_key_and_ending(image[0])[0])) for image in found)


def read_member(path: str, modified: int, offset: int, size: int) -> bytes:
    """Bytes of a tar file; other processes may share the open file."""
    return os.pread(_opened(path, modified).fileno(), size, offset)


@lru_cache(maxsize=128)
def _opened(path: str, modified: int) -> BinaryIO:
    return open(path, 'rb', buffering=0)  # closed when it is forgotten


def _key_and_ending(name: str) -> tuple[str, str]:
    """'a/b' and '.seg.png' of 'a/b.seg.png'; no key of a hidden file."""
    folder, slash, file = name.rpartition('/')
    key, dot, ending = file.partition('.')
    return (f'{folder}{slash}{key}' if key else ''), f'{dot}{ending}'.lower()


def _label(content: bytes, ending: str) -> str:
    text = content.decode().strip()
    if ending == '.cls':
        return text
    fields = loads(text)
    return str(next((fields[name] for name in ('label', 'cls', 'class') if name in fields), ''))


def _expanded(pattern: str) -> Iterator[str]:
    """``a{00..10}`` is ``a00``, ``a01``, ... to ``a10``."""
    bounds = RANGE.search(pattern)
    if bounds is None:
        yield pattern
        return
    for number in range(int(bounds[1]), int(bounds[2]) + 1):
        yield from _expanded(f'{pattern[: bounds.start()]}{number:0{len(bounds[1])}}{pattern[bounds.end() :]}')


def _files(pattern: str) -> list[str]:
    paths = sorted(glob.glob(pattern)) if glob.has_magic(pattern) else [pattern]
    missing = next((path for path in paths or [pattern] if not os.path.isfile(path)), None)
    if missing is not None:
        raise UserError(f'there is no tar file {missing}; correct the pattern after tar:')
    return paths
