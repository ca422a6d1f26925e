"""Work on a batch that a GPU does beside the step before."""

from collections.abc import Callable
from dataclasses import dataclass
from types import ModuleType

import torch
from torch import Tensor
from torch.utils._pytree import tree_leaves


@dataclass(eq=False)
class SideStream:
    """Prepares batches on a stream of its own, so that a GPU may copy and change them while it computes a step.

    The host queues the kernels of a step far ahead of the GPU, which is then still busy with the step before: no batch
    has to be loaded earlier than without a side stream.

    Args:
        prepare: what is done to a batch; it must use nothing that a step computes.
        streams: torch's module of the device.
    """

    prepare: Callable[[dict], dict]
    streams: ModuleType = torch.cuda

    def __post_init__(self) -> None:
        self._stream = self.streams.Stream()

    def __call__(self, batch: dict) -> dict:
        """Return the prepared batch, for the current stream."""
        current = self.streams.current_stream()
        with self.streams.stream(self._stream):
            prepared = self.prepare(batch)
        current.wait_stream(self._stream)
        for leaf in tree_leaves(prepared):
            if isinstance(leaf, Tensor) and leaf.is_cuda:
                leaf.record_stream(current)  # its memory is not used again before the step has read it
        return prepared
