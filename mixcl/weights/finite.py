"""Whether weights are numbers still."""

from collections.abc import Iterator, Mapping

import torch
from torch import Tensor, nn
from torch.optim import Optimizer


def non_finite(tensors: Mapping[str, Tensor]) -> list[str]:
    """Names of the tensors that hold an infinity or NaN."""
    return [name for name, tensor in tensors.items() if not torch.isfinite(tensor).all()]


def training_state(model: nn.Module, optimizer: Optimizer) -> dict[str, Tensor]:
    """Every tensor that decides how training goes on: weights and buffers of the model, state of the optimiser."""
    return {**model.state_dict(), **dict(_optimizer_state(optimizer))}


def _optimizer_state(optimizer: Optimizer) -> Iterator[tuple[str, Tensor]]:
    for number, state in enumerate(optimizer.state.values()):
        for name, value in state.items():
            if isinstance(value, Tensor):
                yield f'{name} of parameter {number} in the optimizer', value
