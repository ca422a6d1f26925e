"""Batches of images that are alike in shape, of runs that resume exactly."""

from collections.abc import Iterator
from itertools import islice

from mmdet.datasets.samplers import AspectRatioBatchSampler

from mixcl.datasets import SampleKey
from mixcl.registry import DATA_SAMPLERS


@DATA_SAMPLERS.register_module()
class KeyedAspectRatioBatchSampler(AspectRatioBatchSampler):
    """mmdet's batches of either upright or wide images, which can begin within an epoch.

    Arguments as of ``mmdet.AspectRatioBatchSampler``; the sampler is a ``KeyedSampler``.

    Attributes:
        start: how many batches to leave out, where a run continues within an epoch.
    """

    def __init__(self, *args, **kwargs) -> None:
        super().__init__(*args, **kwargs)
        self.start = 0

    def __iter__(self) -> Iterator[list[SampleKey]]:
        # A new one: what a pass that was broken off has collected would be in the batches of the next.
        batches = AspectRatioBatchSampler(self.sampler, self.batch_size, self.drop_last)
        yield from islice(batches, self.start, None)
