"""A device without values, which stands in for a GPU in tests of what makes the host wait.

Tensors on torch's device 'meta' have shapes but no values, so whatever reads one raises: ``item``, ``tolist``,
``bool``, ``nonzero``, an index by a mask. In a block of :func:`nothing_waits`, what else would wait for a GPU raises,
too: a copy from the host without ``non_blocking``, an index on the host, a tensor of Python's numbers, a printed value.
"""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, nullcontext
from importlib import import_module
from typing import Any
from unittest.mock import patch

import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

DEVICE = 'meta'
MADE_OF_NUMBERS = (torch.tensor, torch.as_tensor, torch.asarray, Tensor.new_tensor)
PRINTED = (Tensor.__format__, Tensor.__repr__)
INDEXED = (Tensor.__getitem__, Tensor.__setitem__)

aten = torch.ops.aten
COPIES = (aten._to_copy, aten.copy_)
INDEXED_WRITES = (aten.index_put, aten.index_put_)


class Waits(RuntimeError):
    """What the host did would have waited for a GPU."""


@contextmanager
def nothing_waits() -> Iterator[None]:
    """Raise :class:`Waits`, or torch's own error, where something in the block would wait for the device."""
    with _Calls(), _Operations():
        yield


@contextmanager
def acting_as_gpu() -> Iterator[None]:
    """Let autocast accept 'meta', where it does nothing, and optimisers use the implementations that a GPU has."""
    with ExitStack() as patches:
        patches.enter_context(patch.object(torch, 'autocast', _autocast(torch.autocast)))
        enabled = torch.is_autocast_enabled
        patches.enter_context(
            patch.object(torch, 'is_autocast_enabled', lambda device: device != DEVICE and enabled(device))
        )
        for module in map(import_module, ('torch.optim.optimizer', 'torch.utils._foreach_utils')):
            for kind in ('fused', 'foreach'):
                name = f'_get_{kind}_kernels_supported_devices'
                patches.enter_context(patch.object(module, name, _with_device(getattr(module, name))))
        # 'meta' has no fused SGD, which reads nothing.
        patches.enter_context(patch.object(torch, '_fused_sgd_', lambda *args, **kwargs: None))
        yield


def _autocast(original: Any) -> Any:
    def autocast(device_type: str, *args: Any, **kwargs: Any) -> Any:
        return nullcontext() if device_type == DEVICE else original(device_type, *args, **kwargs)

    return autocast


def _with_device(supported: Any) -> Any:
    return lambda: [*supported(), DEVICE]


def _is_on_device(value: Any) -> bool:
    return isinstance(value, Tensor) and value.is_meta


def _is_mask(index: Tensor | None) -> bool:
    return index is not None and index.dtype in (torch.bool, torch.uint8)


def _parts(index: Any) -> tuple:
    return index if isinstance(index, tuple) else (index,)


class _Calls(TorchFunctionMode):
    """Refuses calls from Python whose wait no operation shows."""

    def __torch_function__(self, function: Any, types: Any, args: tuple = (), kwargs: dict | None = None) -> Any:
        if function in PRINTED and args[0].is_meta:
            raise Waits('a value of the device is printed')
        if function in INDEXED and args[0].is_meta and any(isinstance(part, list) for part in _parts(args[1])):
            raise Waits('a list of Python, copied to the device, is an index')
        result = function(*args, **(kwargs or {}))
        if (
            function in MADE_OF_NUMBERS
            and result.is_meta
            and not isinstance(args[function is Tensor.new_tensor], Tensor)
        ):
            raise Waits("numbers of Python are copied to the device: use a tensor's to(device, non_blocking=True)")
        return result


class _Operations(TorchDispatchMode):
    """Refuses operations, also of a backward pass, for which a GPU would need the host to wait."""

    def __torch_dispatch__(self, operation: Any, types: Any, args: tuple = (), kwargs: dict | None = None) -> Any:
        kwargs, kind = kwargs or {}, operation.overloadpacket
        result = operation(*args, **kwargs)
        given = [leaf for leaf in tree_leaves((args, kwargs)) if isinstance(leaf, Tensor)]
        on_device = any(map(_is_on_device, [*given, *tree_leaves(result)]))
        on_host = [leaf for leaf in given if not leaf.is_meta]
        if on_device and on_host and kind in COPIES and not kwargs.get('non_blocking', args[2:3] == (True,)):
            raise Waits(f'{operation} copies from the host without non_blocking')
        # An operation takes a scalar of the host along.
        if on_device and kind not in COPIES and any(leaf.dim() for leaf in on_host):
            raise Waits(f'{operation} uses a tensor of the host')
        # A number is written wherever a mask is true; for several values, the host counts the places.
        if on_device and kind in INDEXED_WRITES and args[2].dim() and any(map(_is_mask, args[1])):
            raise Waits(f'{operation} counts the places of a mask')
        return result
