"""Activation checkpointing: activations are recomputed in the backward pass, to save memory, instead of kept."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from functools import wraps
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.modules.batchnorm import _BatchNorm
from torch.utils.checkpoint import checkpoint

from mixcl.errors import UserError


def checkpoint_activations(model: nn.Module, names: str | Sequence[str]) -> None:
    """Make parts of a model keep only their inputs ("Training Deep Nets with Sublinear Memory Cost", 2016).

    Losses, gradients and batch-norm statistics do not change. (mmengine's own switch lets running statistics see
    every batch twice, and gives no gradient to a part whose inputs have none; torch's wrappers rename parameters, by
    whose names weight decay and layer decay go.)

    Args:
        names: names of modules, such as ``'backbone.layers'``; a module list or sequence stands for its members.

    Raises:
        UserError: if the model has no part of that name.
    """
    for name in [names] if isinstance(names, str) else names:
        for part in _parts(model, name):
            part.forward = _checkpointed(part)


def _parts(model: nn.Module, name: str) -> list[nn.Module]:
    try:
        module = model.get_submodule(name)
    except AttributeError:
        known = ', '.join(child for child, _ in model.backbone.named_children()) if hasattr(model, 'backbone') else ''
        raise UserError(
            f'activation_checkpointing names {name!r}, which the model does not have; name parts of the backbone, '
            f"for example 'backbone.layers' (model.backbone has {known})"
        ) from None
    return list(module) if isinstance(module, (nn.ModuleList, nn.Sequential)) else [module]


def _checkpointed(module: nn.Module) -> Callable[..., Tensor]:
    forward = module.forward

    @wraps(forward)
    def run(*args: Any, **kwargs: Any) -> Tensor:
        if not torch.is_grad_enabled():
            return forward(*args, **kwargs)
        contexts = nullcontext(), _frozen_running_statistics(module)  # of the first forward pass and the recomputation
        return checkpoint(forward, *args, use_reentrant=False, context_fn=lambda: contexts, **kwargs)

    return run


@contextmanager
def _frozen_running_statistics(module: nn.Module) -> Iterator[None]:
    """Keep running statistics as they are, while the same tensors are saved for the backward pass as without."""
    layers = [layer for layer in module.modules() if isinstance(layer, _BatchNorm) and layer.track_running_stats]
    before = [(layer.momentum, layer.num_batches_tracked.clone()) for layer in layers]
    for layer in layers:
        layer.momentum = 0.0
    try:
        yield
    finally:
        for layer, (momentum, count) in zip(layers, before, strict=True):
            layer.momentum = momentum
            layer.num_batches_tracked.copy_(count)
