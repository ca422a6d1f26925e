"""Repeated augmentation: several differently augmented copies of an image in the same epoch."""

from collections.abc import Iterator, Sized

from mixcl.datasets.keyed_dataset import SampleKey
from mixcl.datasets.samplers.keyed import KeyedSampler
from mixcl.errors import UserError
from mixcl.registry import DATA_SAMPLERS


@DATA_SAMPLERS.register_module()
class RepeatedKeyedSampler(KeyedSampler):
    """Yields every image of the epoch's order several times in a row, until the epoch has its usual length.

    An epoch so shows one ``repeats``-th of the images, each in ``repeats`` augmentations that neighbouring processes
    take. All copies have keys of their own: repeat r of epoch e counts as epoch ``e * repeats + r``.

    Args:
        dataset: the data set to draw from.
        repeats: copies per image, at least 1.
        seed, shuffle, multiple_of: as of :class:`KeyedSampler`.

    Raises:
        UserError: on fewer repeats than 1, or fewer images than processes or ``multiple_of``.

    Source: Hoffer et al., Augment Your Batch, 2020; DeiT's recipe repeats 3 times.
    """

    def __init__(
        self, dataset: Sized, repeats: int = 3, seed: int | None = None, shuffle: bool = True, multiple_of: int = 1
    ) -> None:
        if repeats < 1:
            raise UserError(f'RepeatedKeyedSampler: repeats must be at least 1, not {repeats}')
        super().__init__(dataset, seed, shuffle, multiple_of)
        self.repeats = repeats

    def __iter__(self) -> Iterator[SampleKey]:
        order = self._order()
        for place in range(self.rank, len(self) * self.world_size, self.world_size)[self.start :]:
            epoch = self.epoch * self.repeats + place % self.repeats
            yield SampleKey(self.seed, epoch, order[place // self.repeats])
