"""Sampler and data set whose samples are functions of ``(seed, epoch, index)``.

The sampler hands each worker the whole key, so that workers that live longer than an epoch learn the epoch, and what
a sample looks like depends neither on the number of workers or processes, nor on whether the run was resumed.
"""

import os
from bisect import bisect_right
from collections.abc import Iterator, Sequence, Sized
from typing import NamedTuple

import torch
from mmengine.dataset import BaseDataset, ConcatDataset
from mmengine.dist import get_dist_info, sync_random_seed
from torch.utils.data import Dataset, Sampler

from mixcl.datasets.unreadable import ImageNote, NoReadableImage, UnreadableImage
from mixcl.errors import UserError
from mixcl.randomness import generator, seed_global_generators
from mixcl.registry import DATA_SAMPLERS, DATASETS

MAX_ATTEMPTS = 20


class SampleKey(NamedTuple):
    """What all random draws of one sample are a function of."""

    seed: int
    epoch: int
    index: int


@DATA_SAMPLERS.register_module()
class KeyedSampler(Sampler[SampleKey]):
    """Yields the keys of one process's share of an epoch.

    The order is a function of (seed, epoch). Process r of W takes every W-th image from the r-th on; the last images of
    the order sit out the epoch, so that all processes have equally many.

    Args:
        dataset: the data set to draw from.
        seed: the run's seed, the same on all processes. None: agree on a random one.
        shuffle: a new order every epoch; else ascending.
        multiple_of: an epoch has a multiple of this number of images, all processes together: those of one step, where
            a step accumulates the gradients of several batches.

    Attributes:
        dataset: as given, for batch samplers that look at its annotations.
        seed: may be overwritten before an epoch, for example by a resumed run.
        start: how many keys of this process's share to leave out, where a run continues within an epoch.

    Raises:
        UserError: if there are fewer images than processes, or than ``multiple_of``.
    """

    def __init__(self, dataset: Sized, seed: int | None = None, shuffle: bool = True, multiple_of: int = 1) -> None:
        self.dataset = dataset
        self.num_images = len(dataset)
        self.rank, self.world_size = get_dist_info()
        self.seed = sync_random_seed() if seed is None else seed
        self.shuffle = shuffle
        self.multiple_of = multiple_of
        self.epoch = 0
        self.start = 0
        if self.num_images < self.world_size:
            raise UserError(
                f'the data set has {self.num_images} image(s) for {self.world_size} processes: '
                'use fewer processes or more images'
            )
        if self.num_images < multiple_of:
            raise UserError(
                f'the data set has {self.num_images} image(s), fewer than the {multiple_of} of one step: use more '
                'images, or a smaller batch by --cfg-options auto_scale_lr.base_batch_size=... and its learning rate'
            )

    def __iter__(self) -> Iterator[SampleKey]:
        end = len(self) * self.world_size
        for index in self._order()[self.rank : end : self.world_size][self.start :]:
            yield SampleKey(self.seed, self.epoch, index)

    def _order(self) -> list[int]:
        if not self.shuffle:
            return list(range(self.num_images))
        return torch.randperm(self.num_images, generator=generator(self.seed, self.epoch, 'order')).tolist()

    def __len__(self) -> int:
        return self.num_images // self.multiple_of * self.multiple_of // self.world_size

    def set_epoch(self, epoch: int) -> None:
        """The epoch of the keys that the next iteration yields."""
        self.epoch = epoch


@DATASETS.register_module()
class KeyedDataset(Dataset):
    """Runs a data set's pipeline with all global generators started from the sample's key.

    The key lies in the pipeline's results as ``sample_key``, for :class:`KeyedMultiView`. In the place of an image that
    raises :class:`UnreadableImage`, or of which the pipeline leaves nothing (it returns None, as where a crop has no
    object), other images are tried, in an order that is a function of the key. The packed ``data_samples`` has a meta
    field ``sample_key``, and where there is something to tell ``unreadable`` (the files that were replaced) and
    ``converted``, lists of :class:`ImageNote` for ``UnreadableImagesHook``.

    Args:
        dataset: a data set of mmpretrain's or mmengine's kind, a concatenation of such, or its config.

    Raises:
        UserError: if the data set cannot be loaded or is empty.
    """

    def __init__(self, dataset: dict | BaseDataset) -> None:
        # Lazily, so that full_init can tell what went wrong while loading.
        lazily = {'lazy_init': True}
        self.dataset = DATASETS.build(dataset, default_args=lazily) if isinstance(dataset, dict) else dataset
        if not all(isinstance(part, BaseDataset) for part in self._parts):
            raise UserError(
                f'KeyedDataset was given a {type(self.dataset).__name__}, which has no pipeline of its own: '
                'give it a data set derived from mmengine.dataset.BaseDataset'
            )
        self.full_init()

    def full_init(self) -> None:
        """Load the annotations, if that was not done yet; what stops other libraries becomes one sentence."""
        name, folder = type(self.dataset).__name__, self._parts[0].data_root
        try:
            self.dataset.full_init()
        except UserError:
            raise
        except (AssertionError, OSError, RuntimeError, ValueError) as error:
            # A ValueError is also how mmengine ends on an empty list of images.
            raise UserError(
                f'the data set {name} has no images or could not be loaded from {folder!r}: '
                f'{" ".join(str(error).split())}; check the folder (data_root in the config, or --data-root)'
            ) from error

    @property
    def metainfo(self) -> dict:
        """The wrapped data set's, for example the class names."""
        return self.dataset.metainfo

    @property
    def _parts(self) -> Sequence[Dataset]:
        return self.dataset.datasets if isinstance(self.dataset, ConcatDataset) else [self.dataset]

    def __len__(self) -> int:
        return len(self.dataset)

    def get_data_info(self, key: SampleKey | int) -> dict:
        """The annotation of the image that a key names."""
        return self.dataset.get_data_info(key.index if isinstance(key, SampleKey) else key)

    def __getitem__(self, key: SampleKey | int) -> dict:
        """The packed sample of a key; an integer stands for ``SampleKey(0, 0, integer)``.

        Raises:
            NoReadableImage: a UserError, if none of the images tried could be read.
        """
        key = key if isinstance(key, SampleKey) else SampleKey(0, 0, int(key))
        failures: list[ImageNote] = []
        for index in self._candidates(key):
            conversions: list[ImageNote] = []
            try:
                packed = self._sample(key, index, conversions)
            except UnreadableImage as error:
                failures.append(error.note)
                continue
            if packed is None:
                continue
            notes = dict(sample_key=key, unreadable=failures, converted=conversions)
            if 'data_samples' in packed:
                packed['data_samples'].set_metainfo({name: value for name, value in notes.items() if value})
            return packed
        raise NoReadableImage(self._explain(failures))

    def _candidates(self, key: SampleKey) -> Iterator[int]:
        """The image itself, then distinct others."""
        yield key.index
        others = torch.randperm(len(self), generator=generator(*key, 'substitute'))[:MAX_ATTEMPTS].tolist()
        yield from [index for index in others if index != key.index][: MAX_ATTEMPTS - 1]

    def _sample(self, key: SampleKey, index: int, conversions: list[ImageNote]) -> dict | None:
        seed_global_generators(*key, 'sample')
        info = self.dataset.get_data_info(index)
        part = bisect_right(self.dataset.cumulative_sizes, index) if len(self._parts) > 1 else 0
        return self._parts[part].pipeline({**info, 'sample_key': key, 'conversions': conversions})

    def _explain(self, failures: list[ImageNote]) -> str:
        if not failures:
            return (
                f'the pipeline leaves nothing of any of {MAX_ATTEMPTS} images tried in {self._parts[0].data_root}; '
                'check the annotations, or transforms that drop objects'
            )
        path, _, reason = failures[0]
        folder = self._parts[0].data_root or os.path.dirname(path)
        return (
            f'none of {len(failures)} images tried in {folder} could be read; the first: {path} ({reason}); '
            'check the files or give another folder'
        )
