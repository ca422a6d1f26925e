"""Copies of a run's state in memory, to return to."""

import torch
from torch import Tensor, nn
from torch.optim import Optimizer


class BufferCopy:
    """A copy, on the device, of the buffers that a forward pass changes (statistics, queues, centres).

    Args:
        model: whose floating-point and integer buffers are followed.
    """

    def __init__(self, model: nn.Module) -> None:
        self.model = model
        self.copies: list[Tensor] = []

    @torch.no_grad()
    def save(self) -> None:
        """Copy the present values."""
        buffers = list(self.model.buffers())
        if not self.copies:
            self.copies = [torch.empty_like(buffer) for buffer in buffers]
        if buffers:
            torch._foreach_copy_(self.copies, buffers)

    @torch.no_grad()
    def restore_where(self, condition: Tensor) -> None:
        """Put the copies back if the boolean scalar ``condition``, on the device, is true; nothing waits for it."""
        for buffer, copy in zip(self.model.buffers(), self.copies, strict=True):
            buffer.copy_(torch.where(condition.to(buffer.device), copy, buffer))


class Snapshot:
    """Weights, buffers and optimiser state of a step, in main memory.

    Learning rates and weight decays are not part of it: schedules go on where they are.

    Args:
        model: to copy.
        optimizer: of its parameters.
        step: which one it is.
    """

    @torch.no_grad()
    def __init__(self, model: nn.Module, optimizer: Optimizer, step: int) -> None:
        self.step = step
        self.tensors = [*model.parameters(), *model.buffers()]
        self.values = [_to_memory(tensor) for tensor in self.tensors]
        self.optimizer = optimizer
        self.state = {
            parameter: {name: _to_memory(value) for name, value in state.items()}
            for parameter, state in optimizer.state.items()
        }

    @torch.no_grad()
    def restore(self) -> None:
        """Go back to it, in place."""
        for tensor, value in zip(self.tensors, self.values, strict=True):
            tensor.copy_(value)
        for parameter in list(self.optimizer.state):
            stored = self.state.get(parameter)
            if stored is None:
                del self.optimizer.state[parameter]
                continue
            state = self.optimizer.state[parameter]
            for name, value in stored.items():
                state[name] = state[name].copy_(value) if isinstance(value, Tensor) else value


def _to_memory(value: object) -> object:
    return value.detach().to('cpu', copy=True) if isinstance(value, Tensor) else value
