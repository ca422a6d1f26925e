"""Images in tar files."""

import errno
import glob
import os
import re
import tarfile
from collections.abc import Iterator
from functools import cache, partial
from json import loads
from typing import Any

from mixcl.datasets.folder import EXTENSIONS, is_image
from mixcl.datasets.own_images import Images, OwnImages, parts_by_name, split_word
from mixcl.datasets.transforms.decoding import MAX_BYTES
from mixcl.errors import UserError
from mixcl.files import open_regular
from mixcl.registry import DATASETS

RANGE = re.compile(r'\{(\d+)\.\.(\d+)\}')
LABELS = ('.cls', '.json')
MAX_LABEL = 2**24
"""Largest size of a label file in bytes."""


@DATASETS.register_module()
class TarImages(OwnImages):
    """The images in the tar files that match a pattern, in WebDataset's layout, read in any order.

    A file ``key.jpg`` (any common format) has its label in ``key.cls`` (a number or a word) or under ``label``, ``cls``
    or ``class`` in ``key.json``. Beside it, ``key.seg.png`` and the like (masks, depth) are left out. Headers are read
    once per process; images are then read where they lie, without unpacking. The shards' file names give the split if
    some begin with ``train`` and others with ``val`` or ``test``.

    Args:
        source: paths of uncompressed tar files, with ``*`` and ranges: ``shards/train-{000..099}.tar``.
        **kwargs: same as OwnImages's.

    Raises:
        UserError: if no file matches, one is damaged or compressed, or they hold no images.

    Source: the layout, https://github.com/webdataset/webdataset.
    """

    def images(self) -> Images:
        """Return one image per file, in the order of the shards."""
        self.shards = [path for pattern in _expanded(self.source) for path in _files(pattern)]
        part_of_word = parts_by_name(map(split_word, self.shards))
        table = Images([], [], [], [])
        for number, path in enumerate(self.shards):
            state = os.stat(path)
            shard = index_shard(path, state.st_size, state.st_mtime_ns)
            table.names.extend(shard.names)
            table.labels.extend(shard.labels)
            table.parts.extend([part_of_word[split_word(path)]] * len(shard.names))
            table.places.extend((number, *place) for place in shard.places)
        if not table.names:
            raise UserError(f'no images in the {len(self.shards)} tar file(s) of {self.source}; give other files')
        return table

    def place_of(self, images: Images, row: int) -> str:
        """Return a pattern of the shards of an image's part."""
        return f'{split_word(self.shards[images.places[row][0]])}*.tar'

    def reading(self, name: str, *place: int) -> dict[str, Any]:
        """Return a name for messages, and a function ``read_bytes`` that reads the image."""
        number, offset, size = place
        path = self.shards[number]
        return dict(img_path=f'{path}/{name}', read_bytes=partial(read_member, path, offset, size), stored_in=path)


@cache
def index_shard(path: str, size: int, modified: int) -> Images:
    """Return the images of a tar file, without parts; a place is an offset and a number of bytes.

    The result is cached until the size or the modification time of the file changes.

    Raises:
        UserError: if it is not one whole tar file, an image in it is no file, or a key has two labels.
    """
    images = Images([], [], [], [])
    labels: dict[str, str] = {}
    files: dict[str, tuple[int, int]] = {}
    place = 0
    try:
        with tarfile.open(path, 'r:') as shard:
            for member in iter(shard.next, None):
                place = member.offset
                shard.members.clear()  # type: ignore[attr-defined]  # a kilobyte of each
                if shard.offset <= place:
                    raise ValueError('a size below 0')
                name = member.name.removeprefix('./')
                key, ending = _key_and_ending(name)
                is_known = key and (is_image(ending) or ending in LABELS)
                if member.isdir() or not (is_known or member.isreg()):
                    continue
                files[name] = _content(member, files)
                if key and is_image(ending):
                    images.names.append(name)
                    images.places.append(files[name])
                elif is_known:
                    label = _label(read_member(path, *files[name], MAX_LABEL), ending)
                    if label and labels.setdefault(key, label) != label:
                        raise ValueError(f'{key} has two labels, {labels[key]!r} and {label!r}')
            place = shard.offset
            _check_end(path, place)
    except (tarfile.TarError, OSError, ValueError, RecursionError) as error:
        raise UserError(
            f'{path} cannot be read as a tar file without compression (at byte {place}: '
            f'{" ".join(str(error).split())}): unpack it where it is compressed, or write it again'
        ) from error
    keys = [_key_and_ending(name) for name in images.names]
    with_image = {key for key, ending in keys if ending in EXTENSIONS}
    last = {name: row for row, name in enumerate(images.names)}  # of members with one name, tar unpacks the last
    rows = [row for row in last.values() if keys[row][1] in EXTENSIONS or keys[row][0] not in with_image]
    names, places = [images.names[row] for row in rows], [images.places[row] for row in rows]
    return Images(names, [labels.get(keys[row][0]) for row in rows], [], places)


def _content(member: tarfile.TarInfo, files: dict[str, tuple[int, int]]) -> tuple[int, int]:
    """Return the offset and number of a member's bytes; for a hard link, those of an earlier file."""
    target = member.linkname.removeprefix('./')
    if member.islnk() and target in files:
        return files[target]
    if not member.isreg() or member.issparse():
        raise ValueError(f'{member.name} is a link, a pipe, a device or has holes: write it with --dereference of tar')
    return member.offset_data, member.size


def _check_end(path: str, offset: int) -> None:
    """Raise ValueError unless zeros, at least a block, follow the last member; tarfile also ends at any other block."""
    with open(path, 'rb') as file:
        file.seek(offset)
        if len(file.read(tarfile.BLOCKSIZE)) < tarfile.BLOCKSIZE:
            raise ValueError('the mark of its end is missing: the file is truncated')
        file.seek(offset)
        while block := file.read(2**20):
            if rest := block.lstrip(b'\0'):
                place = file.tell() - len(rest)
                raise ValueError(f'what follows, from byte {place}, is no header, or is another tar file')


def read_member(path: str, offset: int, size: int, most: int = MAX_BYTES) -> bytes:
    """Return bytes of a tar file; raise OSError for more than ``most``."""
    if size > most:
        raise OSError(errno.EFBIG, f'too large: {size:,} bytes, {most:,} are the most')
    with open_regular(path) as file:
        return os.pread(file.fileno(), size, offset)


def _key_and_ending(name: str) -> tuple[str, str]:
    """Split 'a/b.seg.png' into 'a/b' and '.seg.png'; a hidden file has no key."""
    folder, slash, file = name.rpartition('/')
    key, dot, ending = file.partition('.')
    return (f'{folder}{slash}{key}' if key else ''), f'{dot}{ending}'.lower()


def _label(content: bytes, ending: str) -> str:
    text = content.decode().strip()
    if ending == '.cls':
        return text
    fields = loads(text)
    label = None
    if isinstance(fields, dict):
        label = next((fields[name] for name in ('label', 'cls', 'class') if name in fields), None)
    return '' if label is None or isinstance(label, list | dict) else str(label)  # several count as none


def _expanded(pattern: str) -> Iterator[str]:
    """Yield ``a00``, ``a01``, ... ``a10`` for ``a{00..10}``."""
    bounds = RANGE.search(pattern)
    if bounds is None:
        yield pattern
        return
    for number in range(int(bounds[1]), int(bounds[2]) + 1):
        yield from _expanded(f'{pattern[: bounds.start()]}{number:0{len(bounds[1])}}{pattern[bounds.end() :]}')


def _files(pattern: str) -> list[str]:
    paths = [pattern] if os.path.isfile(pattern) else sorted(glob.glob(pattern))
    missing = next((path for path in paths or [pattern] if not os.path.isfile(path)), None)
    if missing is not None:
        raise UserError(f'there is no tar file {missing}; correct the pattern after tar:')
    return paths
