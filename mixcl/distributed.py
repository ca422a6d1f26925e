"""Processes: how many there are, and tensors that are spread over them (gathered rows, sharded parameters)."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from weakref import WeakKeyDictionary

import torch
from mmengine.dist import get_rank, get_world_size
from mmengine.model import is_model_wrapper
from torch import Tensor, distributed
from torch.distributed.nn.functional import all_gather, all_reduce
from torch.distributed.tensor import DTensor, Replicate


def process_count(launcher: str) -> int:
    """Return the number of processes that a launcher has started, even before they have joined."""
    variable = dict(pytorch='WORLD_SIZE', slurm='SLURM_NTASKS').get(launcher, '')
    return int(os.environ.get(variable, 1))


def gather_rows(rows: Tensor) -> Tensor:
    """Gather the rows (n, ...) of all processes in rank order, (world size * n, ...); n must be the same in all.

    If rows carry a gradient, the gradient of the sum of all processes' losses flows back. After DistributedDataParallel
    has averaged it, this gradient is that of one process with the whole batch.
    """
    return rows if get_world_size() == 1 else torch.cat(all_gather(rows))


def sum_over_processes(values: Tensor) -> Tensor:
    """Add up the values of all processes, which have one shape. Gradients flow back as for :func:`gather_rows`."""
    return values if get_world_size() == 1 else all_reduce(values)


def first_row(num_rows: int) -> int:
    """Return the index among the gathered rows at which this process's ``num_rows`` rows start."""
    return get_rank() * num_rows


def host_group() -> distributed.ProcessGroup | None:
    """Return the group of all processes that exchanges CPU tensors, without the GPUs; None for a single process.

    All processes must call this at the same point of the program, since the first call creates it.
    """
    if get_world_size() == 1:
        return None
    if distributed.group.WORLD not in _host_groups:
        with silent_stdout():  # gloo prints who is connected to whom
            _host_groups[distributed.group.WORLD] = distributed.new_group(backend='gloo')
    return _host_groups[distributed.group.WORLD]


_host_groups: WeakKeyDictionary = WeakKeyDictionary()


def unwrapped(model: Any) -> Any:
    """Return the module inside a distributed wrapper, or the module itself."""
    return model.module if is_model_wrapper(model) else model


def whole(tensor: Tensor) -> Tensor:
    """Return all of a tensor that may be sharded over the processes (FSDP). All processes must call this together."""
    return tensor.full_tensor() if isinstance(tensor, DTensor) else tensor


def local_part(tensor: Tensor) -> Tensor:
    """Return this process's part of a tensor that may be sharded over the processes, without a copy."""
    return tensor.to_local() if isinstance(tensor, DTensor) else tensor


def replicated(tensor: Tensor) -> Tensor:
    """Return the same values, replicated on all processes; sharded tensors can still be combined with the result."""
    return tensor.redistribute(placements=[Replicate()]) if isinstance(tensor, DTensor) else tensor


@contextmanager
def silent_stdout() -> Iterator[None]:
    """Drop what C libraries print to the standard output in a ``with`` block."""
    sys.stdout.flush()
    kept = os.dup(1)
    nowhere = os.open(os.devnull, os.O_WRONLY)
    try:
        os.dup2(nowhere, 1)
        yield
    finally:
        os.dup2(kept, 1)
        os.close(kept)
        os.close(nowhere)
