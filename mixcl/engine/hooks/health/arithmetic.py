"""How much arithmetic a step does, and how much its device could do."""

import functools
import time
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.flop_counter import flop_registry

PRODUCT = dict(cpu=1024, cuda=8192)
"""Side of the matrices whose product gives the peak."""

_aten = torch.ops.aten
FORMULAS = {
    **flop_registry,
    # which lacks the fused attention of CPUs; its arguments are those of GPUs'
    _aten._scaled_dot_product_flash_attention_for_cpu: flop_registry[_aten._scaled_dot_product_flash_attention],
    _aten._scaled_dot_product_flash_attention_for_cpu_backward: flop_registry[
        _aten._scaled_dot_product_flash_attention_backward
    ],
}


class FlopCounter(TorchDispatchMode):
    """Counts in ``total`` what PyTorch's ``FlopCounterMode`` does, which takes several times as long.

    Not for compiled code, nor under ``torch.inference_mode``.
    """

    total = 0

    def __torch_dispatch__(self, func: Any, types: Any, args: tuple = (), kwargs: dict | None = None) -> Any:
        result = func(*args, **(kwargs or {}))
        if func._overloadpacket in FORMULAS:
            self.total += FORMULAS[func._overloadpacket](*args, **(kwargs or {}), out_val=result)
        return result


@functools.cache
def peak_flops(device: str, dtype: torch.dtype) -> float:
    """FLOPs per second of the best of some products of large matrices, at least three, which take 0.1 s together.

    Args:
        device: one of :data:`PRODUCT`.
        dtype: of the matrices.
    """
    side, generator = PRODUCT[device], torch.Generator(device).manual_seed(0)
    factors = [torch.randn(side, side, device=device, generator=generator).to(dtype) for _ in range(2)]
    times: list[float] = []
    while len(times) < 3 or sum(times) < 0.1:
        start = time.perf_counter()
        factors[0] @ factors[1]
        if device == 'cuda':
            torch.cuda.synchronize()
        times.append(time.perf_counter() - start)
    return 2 * side**3 / min(times)
