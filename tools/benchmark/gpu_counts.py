"""FLOPs, operations and bytes of a training step of the configs of gpu_day.py, counted without a GPU.

``python tools/benchmark/gpu_counts.py`` writes to gpu_counts.json, by config: FLOPs per image; operations per step that
compute or move something; bytes per image that operations other than matrix products, convolutions and attention read
and write. Weights and views are on torch's meta device, which has shapes and no values, under rules like those of
CUDA's bfloat16 autocast. ``--configs NAME ... --batch-size N`` counts others, ``--top 20`` shows what takes most.
"""

from mixcl.starting import begin

begin(__name__)

import argparse
import json
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest.mock import patch

import torch
import torch.nn.functional as F
from synthetic import SyntheticIteration
from torch import Tensor
from torch.optim import optimizer
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves, tree_map

from mixcl.backbones import transformer_block
from mixcl.engine.hooks.health.throughput import flop_counter
from mixcl.recipes.prepared import prepared

ROOT = Path(__file__).resolve().parents[2]
COUNTS = Path(__file__).with_suffix('.json')
CONFIGS = {
    'patchmix/vit-s16_in1k': 256,
    'patchmix/vit-b16_in1k': 128,
    'simclr/vit-s16_in1k': 256,
    'mocov3/r50_in1k': 256,
}
"""Batch sizes by config."""

LOWER = {F.linear, torch.conv2d, torch.matmul, torch.bmm, Tensor.matmul, Tensor.__matmul__, Tensor.__rmatmul__}
FULL = {F.layer_norm, torch.layer_norm, F.softmax, F.log_softmax, Tensor.softmax, Tensor.log_softmax, Tensor.logsumexp}
"""Functions that CUDA's autocast runs in lower and in full precision, of those that a step calls."""
MULTIPLIES = ('mm', 'addmm', 'bmm', 'baddbmm', 'convolution', 'convolution_backward')
GATHERS = ('index', 'index_select', 'gather', 'embedding_bag', '_embedding_bag', 'take_along_dim')
SCATTERS = ('index_copy_', 'index_put_', 'scatter_')
FREE = ('_unsafe_view', 'empty', 'empty_like', 'empty_strided', 'new_empty', 'detach', 'new_empty_strided', 'set_')


class Autocast(TorchFunctionMode):
    """bfloat16 autocast for the meta device; weights are cast once a step, as torch does."""

    def __init__(self) -> None:
        self.enabled, self.cast = False, dict[int, Tensor]()

    def __torch_function__(self, function: Callable, types: Any, args: tuple = (), kwargs: dict | None = None) -> Any:
        if self.enabled and function in LOWER | FULL:
            change = self._lower if function in LOWER else _full
            args, kwargs = tree_map(change, args), tree_map(change, kwargs or {})
        return function(*args, **(kwargs or {}))

    def _lower(self, value: Any) -> Any:
        if not isinstance(value, Tensor) or value.dtype != torch.float32:
            return value
        if not (value.is_leaf and value.requires_grad):
            return value.bfloat16()
        return self.cast.setdefault(id(value), value.bfloat16())

    @contextmanager
    def context(self, *args: Any, enabled: bool = True, **kwargs: Any) -> Iterator[None]:
        """Stand in for ``torch.autocast``."""
        before, self.enabled = self.enabled, enabled
        try:
            yield
        finally:
            self.enabled = before
            if not before:
                self.cast.clear()


def _full(value: Any) -> Any:
    return value.float() if isinstance(value, Tensor) and value.dtype == torch.bfloat16 else value


class Traffic(TorchDispatchMode):
    """Counts operations that are no views, and the bytes that those without products read and write, by name."""

    def __init__(self) -> None:
        super().__init__()
        self.operations, self.bytes = Counter[str](), Counter[str]()

    def __torch_dispatch__(self, func: Any, types: Any, args: tuple = (), kwargs: dict | None = None) -> Any:
        found = func(*args, **(kwargs or {}))
        name = func._schema.name.removeprefix('aten::')
        read, written = _on_device((args, kwargs)), _on_device(found)
        if name in FREE or func.is_view or not (read or written):
            return found
        self.operations[name] += 1
        if name not in MULTIPLIES and 'attention' not in name:
            if name in GATHERS:  # of what is gathered from, only the chosen part is read
                read = written
            elif name in SCATTERS:
                read = written = read[-1:]
            self.bytes[name] += sum(map(_size, [*read, *written]))
        return found


def _on_device(values: Any) -> list[Tensor]:
    return [value for value in tree_leaves(values) if isinstance(value, Tensor) and value.device.type == 'meta']


def _size(tensor: Tensor) -> int:
    """Return the bytes of a tensor, repeated ones once."""
    return min(tensor.numel() * tensor.element_size(), tensor.untyped_storage().nbytes())


def flash_attention(query: Tensor, key: Tensor, value: Tensor, dropout: float = 0.0) -> Tensor:
    """Stand in for the choice of a kernel, which on the meta device is attention written out."""
    parts = (part.bfloat16() for part in (query, key, value))
    return torch.ops.aten._scaled_dot_product_flash_attention(*parts, dropout)[0]


def count(name: str, batch_size: int) -> tuple[int, Traffic]:
    """Return the FLOPs of a step in bfloat16, and its traffic with that of its views."""
    cfg = prepared(ROOT / f'configs/{name}.py', amp=True)
    autocast, traffic, flops = Autocast(), Traffic(), flop_counter()
    devices = [*optimizer._get_fused_kernels_supported_devices(), 'meta']
    with (
        patch.object(torch, 'autocast', autocast.context),
        patch.object(torch, 'is_autocast_enabled', lambda device: autocast.enabled),
        patch.object(torch, 'get_autocast_dtype', lambda device: torch.bfloat16),
        patch.object(optimizer, '_get_fused_kernels_supported_devices', lambda: devices),
        patch.object(transformer_block, 'attend', flash_attention),
    ):
        iteration = SyntheticIteration(cfg, batch_size, 'meta', 'device')
        with autocast:
            iteration.run()  # makes the states of the optimiser
            with traffic:
                iteration.batch = iteration.model.data_preprocessor.finish(iteration.batch)  # as the train loop does
                with flops:
                    iteration.run()
    return flops.get_total_flops(), traffic


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition('\n')[0])
    parser.add_argument('--configs', nargs='+', metavar='NAME', help='others, which are printed and not written')
    parser.add_argument('--batch-size', type=int, default=256, help='of others')
    parser.add_argument('--top', type=int, default=0, help='show so many kinds of operations')
    args = parser.parse_args()
    found = {}
    for name, batch in (dict.fromkeys(args.configs, args.batch_size) if args.configs else CONFIGS).items():
        flops, traffic = count(name, batch)
        found[name] = dict(
            batch=batch,
            flops=flops // batch,
            operations=traffic.operations.total(),
            bytes=traffic.bytes.total() // batch,
        )
        print(name, found[name], flush=True)
        for kind, size in traffic.bytes.most_common(args.top):
            print(f'  {kind:45} {traffic.operations[kind]:6} operations {size / batch / 2**20:8.1f} MiB per image')
    if not args.configs:
        COUNTS.write_text(json.dumps(found, indent=1) + '\n')


if __name__ == '__main__':
    main()
