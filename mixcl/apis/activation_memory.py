"""How much memory a training step needs beside the weights."""

from collections.abc import Callable

import torch
from torch import Tensor, nn


def activation_bytes(model: nn.Module, step: Callable[[], object]) -> int:
    """Memory of one step beyond what was there before: weights, optimiser state, images.

    On a GPU the peak of the allocator. On a CPU the tensors that are saved for the backward pass, each storage once,
    without the weights; buffers that live only within an operation are not seen there.

    Args:
        model: what is trained; its device decides which of the two is measured.
        step: runs forward and backward once. Optimiser states should exist already.
    """
    device = next(model.parameters()).device
    return _peak_on_gpu(step, device) if device.type == 'cuda' else _saved_for_backward(model, step)


def _peak_on_gpu(step: Callable[[], object], device: torch.device) -> int:
    before = torch.cuda.memory_allocated(device)
    torch.cuda.reset_peak_memory_stats(device)
    step()
    return torch.cuda.max_memory_allocated(device) - before


def _saved_for_backward(model: nn.Module, step: Callable[[], object]) -> int:
    weights = {tensor.untyped_storage().data_ptr() for tensor in model.state_dict().values()}
    saved: dict[int, int] = {}

    def note(tensor: Tensor) -> Tensor:
        storage = tensor.untyped_storage()
        if storage.data_ptr() not in weights:
            saved[storage.data_ptr()] = storage.nbytes()  # once, however many operations saved it
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(note, lambda tensor: tensor):
        step()
    return sum(saved.values())
