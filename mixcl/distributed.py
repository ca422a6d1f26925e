"""Gathering what is spread over processes."""

import torch
from mmengine.dist import get_rank, get_world_size
from mmengine.model import is_model_wrapper
from torch import Tensor, nn
from torch.distributed import all_gather, all_reduce
from torch.distributed.tensor import DTensor, Replicate


def gather_rows(rows: Tensor, gradient: str = 'global') -> Tensor:
    """The rows of all processes in rank order, (world size * n, ...); this process's start at ``rank * n``.

    Every process must hand in the same number of rows.

    Args:
        rows: (n, ...) of this process.
        gradient: what flows back where ``rows`` carry a gradient. 'global': the gradient of the sum of all processes'
            losses, so that after the averaging of DistributedDataParallel the result is that of one process with the
            whole batch. 'slice': only that of this process's loss, as SimCLR codes in circulation have it.
    """
    if get_world_size() == 1:
        return rows
    if torch.is_grad_enabled() and rows.requires_grad:
        return _GatherWithGradient.apply(rows, gradient == 'global')
    return _gathered(rows)


def first_row(num_rows: int) -> int:
    """Index among the gathered rows at which this process's ``num_rows`` rows start."""
    return get_rank() * num_rows


def unwrapped(model: nn.Module) -> nn.Module:
    """The model inside of a distributed wrapper, or the model itself."""
    return model.module if is_model_wrapper(model) else model


def whole(tensor: Tensor) -> Tensor:
    """A tensor that may be spread over the processes (FSDP), complete in each; all processes must ask together."""
    return tensor.full_tensor() if isinstance(tensor, DTensor) else tensor


def local_part(tensor: Tensor) -> Tensor:
    """This process's part of a tensor that may be spread over the processes, without a copy."""
    return tensor.to_local() if isinstance(tensor, DTensor) else tensor


def replicated(tensor: Tensor) -> Tensor:
    """The same, in the form that can still be combined with tensors that are spread over the processes."""
    return (
        tensor.redistribute(placements=[Replicate()] * tensor.device_mesh.ndim)
        if isinstance(tensor, DTensor)
        else tensor
    )


def _gathered(rows: Tensor) -> Tensor:
    rows = rows.contiguous()
    gathered = rows.new_empty(get_world_size() * len(rows), *rows.shape[1:])
    all_gather(list(gathered.chunk(get_world_size())), rows)
    return gathered


class _GatherWithGradient(torch.autograd.Function):
    @staticmethod
    def forward(context, rows: Tensor, reduce: bool) -> Tensor:
        context.num_rows, context.reduce = len(rows), reduce
        return _gathered(rows)

    @staticmethod
    def backward(context, gradient: Tensor) -> tuple[Tensor, None]:
        if context.reduce:
            gradient = gradient.contiguous().clone()
            all_reduce(gradient)
        start = first_row(context.num_rows)
        return gradient[start : start + context.num_rows], None
