"""The device without values refuses whatever would make the host wait for a GPU.

That it refuses nothing else is shown by the steps of all methods (tests/algorithms/test_no_waits.py).
"""

from collections.abc import Callable

import pytest
import torch
from torch import Tensor
from waits import DEVICE, nothing_waits

WAITING: dict[str, Callable[[Tensor, Tensor], object]] = {
    'item': lambda x, mask: x.sum().item(),
    'a condition': lambda x, mask: 1 if x.sum() > 0 else 2,
    'cpu': lambda x, mask: x.cpu(),
    'masked index': lambda x, mask: x[mask],
    'masked write': lambda x, mask: x.__setitem__(mask, x[:2]),
    'print': lambda x, mask: f'{x.sum():.3f}',
    'write from the host': lambda x, mask: x[0].copy_(torch.ones(3)),
    'index of the host': lambda x, mask: x[torch.arange(2)],
    'list as index': lambda x, mask: x[[0, 1]],
    'numbers of Python': lambda x, mask: torch.tensor([1.0, 2.0], device=x.device),
    'new_tensor': lambda x, mask: x.new_tensor([1.0, 2.0]),
}


@pytest.mark.parametrize('name', WAITING)
def test_what_waits_is_refused(name: str) -> None:
    x, mask = torch.zeros(4, 3, device=DEVICE), torch.ones(4, dtype=torch.bool, device=DEVICE)
    with pytest.raises((RuntimeError, TypeError)), nothing_waits():
        WAITING[name](x, mask)


def test_what_waits_in_a_backward_pass_is_refused() -> None:
    x = torch.zeros(3, device=DEVICE, requires_grad=True)
    x.register_hook(lambda gradient: gradient * torch.ones(3).to(DEVICE))
    with pytest.raises(RuntimeError, match='non_blocking'), nothing_waits():
        x.sum().backward()
