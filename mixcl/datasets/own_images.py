"""What the data sets of people's own images share: labels, and a split that is given or drawn."""

import os
from collections import defaultdict
from collections.abc import Iterable
from hashlib import blake2b
from typing import Any, NamedTuple

from mmpretrain.datasets import BaseDataset

from mixcl.errors import UserError, printable

SPLITS = ('all', 'pretrain', 'train', 'test')
HELD_OUT = ('val', 'valid', 'validation', 'test')
SHARE = 0.2
"""Of the labelled images of a class, about so many are held out where no split is given."""


class OwnImage(NamedTuple):
    """One image of a source.

    Attributes:
        name: that it keeps when the source moves; the drawn split is a function of it.
        label: None where it has none.
        part: of the split that is given, 'train' or 'test'; '' where none is, None of images in no part.
        info: ``img_path``, and what else the reading needs.
    """

    name: str
    label: str | None
    part: str | None
    info: dict[str, Any]


class Survey(NamedTuple):
    """What there is in a source.

    Attributes:
        images: how many are pretrained on.
        classes: names; none where fewer than two are found, or nothing to test on.
        train, test: how many labelled images each part has.
        given: whether the source says which are to be tested on.
    """

    images: int
    classes: tuple[str, ...]
    train: int
    test: int
    given: bool

    def __str__(self) -> str:
        if not self.classes:
            return f'{self.images} images to pretrain on without labels, so no kNN'
        named = ', '.join(map(printable, self.classes[:5])) + (', ...' if len(self.classes) > 5 else '')
        how = 'as the data say' if self.given else 'drawn by name; pretraining sees all images, without labels'
        return (
            f'{self.images} images to pretrain on; {len(self.classes)} classes ({named}), {self.train} labelled '
            f'images to learn from and {self.test} to test on ({how})'
        )


class OwnImages(BaseDataset):
    """Named images of a source, with labels or without. Subclasses read the source.

    Where the source says which images are for training and which for validation or test, that is the split. Else
    about a fifth of every class is held out, chosen by the image's name: images keep their part when others come.

    Args:
        source: the place of the images.
        data_root: folder that names are relative to; by default as the source has it.
        split: 'pretrain': all images but those of a given test split, those with labels that also 'train' has;
            'train' and 'test': the labelled images of that part; 'all': everything, with labels if all have one.
        **kwargs: of mmpretrain's BaseDataset, for example ``pipeline`` and ``indices``.

    Raises:
        UserError: if the source cannot be read or holds no images, or labels are needed and there are none.
    """

    def __init__(self, source: str, data_root: str = '', split: str = 'all', **kwargs: Any) -> None:
        if split not in SPLITS:
            raise UserError(f'{type(self).__name__}: split={split!r} is none of {", ".join(SPLITS)}')
        self.source = os.path.expanduser(source)
        self.split = split
        self.class_names: tuple[str, ...] = ()  # where a source has an order of its own
        super().__init__(ann_file='', data_root=os.path.expanduser(data_root) or self.folder, **kwargs)

    @property
    def folder(self) -> str:
        """The folder that a source lies in."""
        return os.path.dirname(self.source)

    def images(self) -> list[OwnImage]:
        """All images of the source, in the order of pretraining."""
        raise NotImplementedError

    def check_layout(self) -> None:
        """Refuse a source that cannot be read, before anything expensive."""
        self.images()

    def survey(self) -> Survey:
        """Count the images and the classes."""
        images = self.images()
        classes = self._classes(images)
        train, test = (len(in_part(images, part)) if classes else 0 for part in ('train', 'test'))
        unlabelled = [image for image in images if image.part in ('', 'train')]
        return Survey(len(unlabelled), classes, train, test, is_given(images))

    def load_data_list(self) -> list[dict]:
        """The images of the split; ``gt_label`` is the place of the class among the sorted names."""
        images = self.images()
        classes = self._metainfo['classes'] = self._classes(images)
        place = {name: number for number, name in enumerate(classes)}
        if self.split == 'pretrain':
            known = {image.name: place[str(image.label)] for image in in_part(images, 'train')} if classes else {}
            chosen = [image for image in images if image.part in ('', 'train')]
            return [
                {**image.info, 'gt_label': known[image.name]} if image.name in known else image.info for image in chosen
            ]
        if self.split == 'all':
            labelled = bool(classes) and all(image.label in classes for image in images)
        elif not classes:
            raise UserError(
                f'{self.source} has no labels of two classes or more, to learn from and to test on, which kNN, probes '
                'and fine-tuning need: see docs/your_images.md, or pretrain only'
            )
        else:
            images, labelled = in_part(images, self.split), True
        return [{**image.info, 'gt_label': place[str(image.label)]} if labelled else image.info for image in images]

    def _classes(self, images: list[OwnImage]) -> tuple[str, ...]:
        used = [image for image in images if image.label is not None and image.part is not None]
        labels, parts = {str(image.label) for image in used}, {image.part for image in used}
        both = {'train', 'test'} <= parts if is_given(images) else len(used) > len(labels)
        if len(labels) < 2 or not both:
            return ()
        return self.class_names or tuple(sorted(labels, key=_in_order))


def given_parts(names: Iterable[str]) -> dict[str, str | None]:
    """The part of each of these names of folders or splits: '' of all unless they are 'train' and a held-out one.

    Of several that are held out, the first of :data:`HELD_OUT` is tested on, and the others are not used.
    """
    names = set(names)
    held_out = next((name for name in HELD_OUT if name in names), None)
    if held_out is None or 'train' not in names:
        return dict.fromkeys(names, '')
    return {**dict.fromkeys(names), 'train': 'train', held_out: 'test'}


def is_given(images: Iterable[OwnImage]) -> bool:
    """Whether the source says which images are held out."""
    return any(image.part for image in images)


def in_part(images: list[OwnImage], part: str) -> list[OwnImage]:
    """The labelled images of a part, 'train' or 'test', as it is given or drawn; in their order."""
    images = [image for image in images if image.label is not None]
    if is_given(images):
        return [image for image in images if image.part == part]
    held_out = _drawn(images)
    return [image for image in images if (image.name in held_out) == (part == 'test')]


def _drawn(images: list[OwnImage]) -> set[str]:
    """The names of the images that are held out: at least one of every class, and never all."""
    classes = defaultdict(list)
    for image in images:
        digest = blake2b(image.name.encode(errors='surrogateescape'), digest_size=8).digest()
        classes[image.label].append((int.from_bytes(digest, 'little') / 2**64, image.name))
    held_out = set()
    for draws in classes.values():
        draws.sort()
        number = sum(draw < SHARE for draw, _ in draws)
        held_out |= {name for _, name in draws[: min(max(number, 1), len(draws) - 1)]}
    return held_out


def _in_order(label: str) -> tuple[bool, int, str]:
    """Numbers by value, before words."""
    number = label.isascii() and label.isdecimal()
    return not number, int(label) if number else 0, label
