"""Batches of either upright or wide images, for runs that resume exactly."""

from collections.abc import Iterator
from itertools import islice
from typing import Any

from mmdet.datasets.samplers import AspectRatioBatchSampler

from mixcl.datasets import SampleKey
from mixcl.registry import DATA_SAMPLERS


@DATA_SAMPLERS.register_module()
class KeyedAspectRatioBatchSampler(AspectRatioBatchSampler):
    """``mmdet.AspectRatioBatchSampler`` around a ``KeyedSampler``, which can begin within an epoch.

    Attributes:
        start: how many batches to leave out, where a run continues within an epoch.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.start = 0

    def __iter__(self) -> Iterator[list[SampleKey]]:
        # A new one, since mmdet's keeps what it had collected when a pass was broken off.
        batches = AspectRatioBatchSampler(self.sampler, self.batch_size, self.drop_last)
        yield from islice(batches, self.start, None)
