"""How much arithmetic a step does, and how much its device could do."""

import functools
import time

import torch
from torch.utils.flop_counter import flop_registry, register_flop_formula

PRODUCT = dict(cpu=1024, cuda=8192)
"""Side of the matrices whose product gives the peak."""

# FlopCounterMode knows the fused attention of GPUs only; that of CPUs has the same arguments.
_fused = torch.ops.aten._scaled_dot_product_flash_attention, torch.ops.aten._scaled_dot_product_flash_attention_backward
for _gpus in _fused:
    _own = getattr(torch.ops.aten, _gpus.__name__.replace('attention', 'attention_for_cpu'))
    if _own not in flop_registry:
        register_flop_formula(_own, get_raw=True)(flop_registry[_gpus])


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
