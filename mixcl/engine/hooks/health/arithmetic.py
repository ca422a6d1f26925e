"""How much arithmetic a step does, and how much its device could do."""

import functools
import time

import torch
from torch.utils.flop_counter import FlopCounterMode, flop_registry

PRODUCT = dict(cpu=1024, cuda=8192)
"""Side of the matrices whose product gives the peak."""

_aten = torch.ops.aten
CPU_ATTENTION = {
    _aten._scaled_dot_product_flash_attention_for_cpu: flop_registry[
        _aten._scaled_dot_product_flash_attention
    ].__wrapped__,
    _aten._scaled_dot_product_flash_attention_for_cpu_backward: flop_registry[
        _aten._scaled_dot_product_flash_attention_backward
    ].__wrapped__,
}
"""What PyTorch's registry lacks; the arguments are those of GPUs' attention."""


def flop_counter() -> FlopCounterMode:
    """PyTorch's counter, which also counts the fused attention of CPUs; not for compiled code."""
    return FlopCounterMode(display=False, custom_mapping=CPU_ATTENTION)


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
