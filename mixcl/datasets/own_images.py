"""Base class of data sets of your own images: labels, and a split that is given or drawn."""

import os
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from hashlib import blake2b
from typing import Any, NamedTuple

import numpy as np

from mixcl.datasets.split_dataset import SplitDataset
from mixcl.errors import UserError, first_few, printable

HELD_OUT = ('val', 'valid', 'validation', 'test')
PART_BY_NAME = dict(
    zip(HELD_OUT, HELD_OUT, strict=True), train='train', unlabeled='extra', unlabelled='extra', extra='extra'
)
"""Names of folders that say which part their images are, if there are two or more parts."""

SUFFIX = re.compile(r'[\W_]*(v|images?|ing|set)?[\W\d_]*$')
"""End of such a name that does not count: 'train2017', 'val_v2', 'test_images', 'training'."""

TEST_SHARE = 0.2
"""Approximate share of a class's labelled images that is held out if no split is given."""


class Images(NamedTuple):
    """Table of the images of a source, in the order of pretraining.

    It is stored by column, since a million objects, one per image, would take a gigabyte.

    Attributes:
        names: identify the images, and decide the drawn split; they stay the same when the source moves.
        labels: None for an image without a label.
        parts: 'train', 'test', 'extra' (pretraining ignores its labels) or None (left out), if the source says so;
            else '', and the images to test on are drawn.
        places: file and position of each image; empty if names are enough to read them.
    """

    names: list[str]
    labels: list[str | None]
    parts: list[str | None]
    places: list[tuple[int, ...]]


class Survey(NamedTuple):
    """Numbers of images and classes of a source.

    Attributes:
        images: number of images to pretrain on.
        classes: names; empty if fewer than two are found, or there is nothing to learn from or to test on.
        train, test: number of labelled images of each part.
        given: whether the source says which images to test on.
        digest: eight hex digits of the names, in order, with class and part.
        left_out: number of images that pretraining does not see, by where they are.
    """

    images: int
    classes: tuple[str, ...]
    train: int
    test: int
    given: bool
    digest: str
    left_out: Mapping[str, int]

    def __str__(self) -> str:
        shown = first_few(f'{n:,} image{"s" * (n > 1)} in {place}' for place, n in self.left_out.items())
        rest = f'; left out of pretraining: {shown}' if shown else ''
        if not self.classes:
            return f'{self.images:,} images to pretrain on without labels, so no kNN{rest}'
        how = 'as the data say' if self.given else 'drawn by name; pretraining sees all images, without labels'
        return (
            f'{self.images:,} images to pretrain on; {len(self.classes):,} classes ({first_few(self.classes)}), '
            f'{self.train:,} labelled images to learn from and {self.test:,} to test on ({how}){rest}'
        )


class OwnImages(SplitDataset):
    """Named images of a source, with labels or without. Subclasses read the source.

    If the source says which images are for training and which for validation or test, this is the split, and images of
    neither are pretrained on, too. Else about a fifth of every class is held out, chosen by image names, so images keep
    their part when others are added.

    Args:
        source: where the images are.
        data_root: folder that names are relative to; by default the source's.
        labels: False if what the source has for labels means nothing, such as folders by date.
        split: 'pretrain': all images but those of validation and test, with labels for the images of 'train';
            'train' and 'test': the labelled images of that part; 'all': everything, with labels if all have one.
        **kwargs: of mmpretrain's BaseDataset, for example ``pipeline`` and ``indices``.

    Raises:
        UserError: if the source cannot be read or holds no images, or if labels are needed and missing.
    """

    SPLITS = ('all', 'pretrain', 'train', 'test')

    def __init__(self, source: str, data_root: str = '', labels: bool = True, **kwargs: Any) -> None:
        self.source, self.labelled = os.path.expanduser(source), labels
        self.no_images: Counter[str] = Counter()  # what looks like images and is none, by where it is
        self.class_names: tuple[str, ...] = ()  # if the source has its own order
        super().__init__(data_root or self.folder, **kwargs)

    @property
    def folder(self) -> str:
        """The folder that names are relative to."""
        return self.source if os.path.isdir(self.source) else os.path.dirname(self.source)

    def images(self) -> Images:
        """Return all images of the source."""
        raise NotImplementedError

    def reading(self, name: str, *place: int) -> dict[str, Any]:
        """Return ``img_path``, and ``read_bytes`` for an image without its own file, as ``LoadImage`` takes them."""
        return dict(img_path=os.path.join(self.data_root, name))

    def place_of(self, images: Images, row: int) -> str:
        """Return the folder or part that an image belongs to, for messages."""
        return images.names[row].partition('/')[0] + '/'

    def check_layout(self) -> None:
        """Refuse a source that cannot be read, before anything expensive."""
        self.images()

    def survey(self) -> Survey:
        """Count the images and the classes."""
        images = self.images()
        classes, codes, parts = self._divided(images)
        train, test = (int(((codes >= 0) & (parts == part)).sum()) for part in ('train', 'test'))
        held_out = np.flatnonzero(~_pretrained(images)).tolist()
        left_out = Counter(self.place_of(images, row) for row in held_out)
        digest = blake2b(digest_size=4)
        for name, code, part in zip(images.names, codes.tolist(), parts.tolist(), strict=True):
            digest.update(f'{name}\0{code}\0{part}\0'.encode(errors='surrogateescape'))
        pretrained, given = len(parts) - len(held_out), 'test' in images.parts
        return Survey(pretrained, classes, train, test, given, digest.hexdigest(), left_out + self.no_images)

    def load_data_list(self) -> list[dict]:
        """Return the images of the split; ``gt_label`` indexes the class names of ``metainfo``."""
        images = self.images()
        classes, codes, parts = self._divided(images)
        self._metainfo['classes'] = classes
        everything = np.ones(len(codes), dtype=bool)
        if self.split == 'pretrain':
            labelled = (codes >= 0) & (parts == 'train')
            chosen = _pretrained(images)
        elif self.split == 'all':
            chosen, labelled = everything, everything & (codes >= 0).all()
        elif classes:
            chosen = labelled = (codes >= 0) & (parts == self.split)
        else:
            raise UserError(
                f'{self.source} has no labels of two classes or more, to learn from and to test on, which kNN, probes '
                'and fine-tuning need: see docs/your_images.md, or pretrain only'
            )
        labels = np.where(labelled, codes, -1).tolist()
        return [
            dict(name=images.names[row])
            | (dict(place=images.places[row]) if images.places else {})
            | (dict(gt_label=labels[row]) if labels[row] >= 0 else {})
            for row in np.flatnonzero(chosen).tolist()
        ]

    def get_data_info(self, idx: int) -> dict:
        """Return the result of :meth:`reading`, and the label, if any."""
        info = super().get_data_info(idx)
        return {**self.reading(info.pop('name'), *info.pop('place', ())), **info}

    def _divided(self, images: Images) -> tuple[tuple[str, ...], np.ndarray, np.ndarray]:
        """Return the class names; the class of each image or -1, (n,) int64; and its part, (n,) of str or None.

        Parts 'train' and 'test' are given, or drawn for images with a class. There are no classes if fewer than two
        are found, or if there is nothing to learn from or to test on.
        """
        pairs = set(zip(images.labels, images.parts, strict=True)) if self.labelled else set()
        labels_found = {label for label, part in pairs if label is not None and part in ('train', 'test', '')}
        classes = self.class_names or tuple(sorted(labels_found, key=_in_order))
        numbers: dict[str | None, int] = {name: number for number, name in enumerate(classes)}
        codes = np.fromiter((numbers.get(label, -1) for label in images.labels), np.int64, len(images.labels))
        parts = np.array(images.parts, dtype=object)
        if len(rows := np.flatnonzero((codes >= 0) & (parts == ''))):
            parts[rows] = np.where(
                drawn_to_test([images.names[row] for row in rows.tolist()], codes[rows]), 'test', 'train'
            )
        learnt, tested = (set(codes[(codes >= 0) & (parts == part)].tolist()) for part in ('train', 'test'))
        if len(labels_found) < 2 or not learnt or not tested:
            return (), np.full_like(codes, -1), parts
        if unknown := sorted(classes[code] for code in tested - learnt):
            raise UserError(
                f'{self.source}: {len(unknown)} of {len(tested)} classes to test on have no image to learn from, such '
                f'as {printable(unknown[0])}; name them as in the training part, or pretrain on that part alone'
            )
        return classes, codes, parts


def split_word(path: str) -> str:
    """Return the word that a file name begins with, 'train' for 'shards/Train-0001.tar'."""
    return re.split('[^a-z]', os.path.basename(path).lower())[0]


def parts_by_name(names: Iterable[str]) -> dict[str, str | None]:
    """Return the part of each folder or split by its name, as :class:`Images` has it; '' for all without two parts.

    Case and a :data:`SUFFIX` are ignored. Of several held-out names, the first of :data:`HELD_OUT` is tested on, and
    the others are left out. Names that are none of :data:`PART_BY_NAME` are 'extra', since pretraining needs no labels.
    """
    words = {name: SUFFIX.sub('', name.lower()) for name in names}
    present = {PART_BY_NAME[word] for word in words.values() if word in PART_BY_NAME}
    if len(present) < 2:  # one alone may be a class
        return dict.fromkeys(words, '')
    tested = next((word for word in HELD_OUT if word in present), None)
    parts = dict(dict.fromkeys(HELD_OUT), train='train') | ({tested: 'test'} if tested else {'train': ''})
    return {name: parts.get(word, 'extra') for name, word in words.items()}


def _pretrained(images: Images) -> np.ndarray:
    """Return (n,) bool, which images pretraining sees."""
    return np.array([part not in ('test', None) for part in images.parts], dtype=bool)


def drawn_to_test(names: Sequence[str], codes: np.ndarray) -> np.ndarray:
    """Return (n,) bool, which images are held out: at least one of every class, but never all."""
    digests = (blake2b(name.encode(errors='surrogateescape'), digest_size=8).digest() for name in names)
    draws = np.frombuffer(b''.join(digests), '<u8') / 2**64
    order = np.lexsort((draws, codes))
    held_out = np.zeros(len(codes), dtype=bool)
    for rows in np.split(order, np.flatnonzero(np.diff(codes[order])) + 1):
        number = int((draws[rows] < TEST_SHARE).sum())
        held_out[rows[: min(max(number, 1), len(rows) - 1)]] = True
    return held_out


def _in_order(label: str) -> tuple[bool, int, str, str]:
    """Return a sort key: numbers by value, however long, then words."""
    if label.isascii() and label.isdecimal():
        digits = label.lstrip('0')
        return False, len(digits), digits, label
    return True, 0, '', label
