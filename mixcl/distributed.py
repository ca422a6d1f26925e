"""Gathering keys over processes."""

from mmengine.dist import get_rank, get_world_size
from torch import Tensor
from torch.distributed import all_gather


def gather_keys(keys: Tensor) -> Tensor:
    """The keys of all processes in rank order, (world size * n, D); this process's start at ``rank * n``.

    No gradient flows. Every process must hand in the same number of rows.
    """
    world_size = get_world_size()
    if world_size == 1:
        return keys
    keys = keys.contiguous()
    gathered = keys.new_empty(world_size * len(keys), *keys.shape[1:])
    all_gather(list(gathered.chunk(world_size)), keys)
    return gathered


def first_row(num_rows: int) -> int:
    """Index among the gathered rows at which this process's ``num_rows`` rows start."""
    return get_rank() * num_rows
