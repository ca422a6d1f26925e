"""A sampler that hands workers the whole key of each sample.

Persistent workers learn the epoch from the key. So a sample depends neither on the number of workers or processes, nor
on whether the run was resumed.
"""

from collections.abc import Iterator, Sized

import torch
from mmengine.dist import get_dist_info, sync_random_seed
from torch.utils.data import Sampler

from mixcl.datasets.keyed_dataset import SampleKey
from mixcl.errors import UserError
from mixcl.randomness import generator
from mixcl.registry import DATA_SAMPLERS


@DATA_SAMPLERS.register_module(name=['KeyedSampler', 'RepeatedKeyedSampler'])
class KeyedSampler(Sampler[SampleKey]):
    """Sampler of the keys of one process's share of an epoch.

    The order is a function of (seed, epoch). Process r of W takes every W-th image from the r-th on; the last images of
    the order sit out the epoch, so that all processes have equally many.

    With repeated augmentation, each image of the order comes ``repeats`` times in a row, until the epoch has its usual
    length. So an epoch shows one ``repeats``-th of the images, and neighbouring processes take an image's copies. Each
    copy has its own key: copy r of epoch e counts as epoch ``e * repeats + r``.

    Args:
        dataset: the data set to draw from.
        seed: the run's seed, the same on all processes. None: agree on a random one.
        shuffle: a new order every epoch; else ascending.
        multiple_of: the number of images of an epoch, over all processes, is a multiple of this: the images of one
            step, if a step accumulates the gradients of several batches.
        repeats: copies per image, at least 1. DeiT's recipe has 3.

    Attributes:
        dataset: as given, for batch samplers that look at its annotations.
        seed: may be overwritten before an epoch, for example by a resumed run.
        start: number of keys of this process's share to skip, if a run continues within an epoch.

    Raises:
        UserError: if there are fewer images than processes, or than ``multiple_of``.

    Source of repeated augmentation: Hoffer et al., Augment Your Batch, 2020.
    """

    def __init__(
        self, dataset: Sized, seed: int | None = None, shuffle: bool = True, multiple_of: int = 1, repeats: int = 1
    ) -> None:
        self.dataset = dataset
        self.num_images = len(dataset)
        self.rank, self.world_size = get_dist_info()
        self.seed = sync_random_seed() if seed is None else seed
        self.shuffle = shuffle
        self.multiple_of = multiple_of
        self.repeats = repeats
        self.epoch = 0
        self.start = 0
        if self.num_images < max(self.world_size, multiple_of):
            raise UserError(
                f'the data set has {self.num_images} image(s) for {self.world_size} process(es) and {multiple_of} in '
                'one step: use more images, fewer processes, or a smaller batch'
            )

    def __iter__(self) -> Iterator[SampleKey]:
        order = list(range(self.num_images))
        if self.shuffle:
            order = torch.randperm(self.num_images, generator=generator(self.seed, self.epoch, 'order')).tolist()
        for place in range(self.rank, len(self) * self.world_size, self.world_size)[self.start :]:
            image, copy = divmod(place, self.repeats)
            yield SampleKey(self.seed, self.epoch * self.repeats + copy, order[image])

    def __len__(self) -> int:
        return self.num_images // self.multiple_of * self.multiple_of // self.world_size

    def set_epoch(self, epoch: int) -> None:
        """Set the epoch of the keys that the next iteration yields."""
        self.epoch = epoch
