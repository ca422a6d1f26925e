"""Optimiser parameter groups, and mixed precision that works on every device."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from mmengine.logging import MMLogger
from mmengine.optim import DefaultOptimWrapperConstructor
from mmengine.optim import OptimWrapper as MMEngineOptimWrapper
from torch import Tensor, nn

from mixcl.backbones.wrapped_backbone import WrappedBackbone
from mixcl.registry import OPTIM_WRAPPER_CONSTRUCTORS, OPTIM_WRAPPERS, OPTIMIZERS

PER_PARAMETER_KEYS = ('params', 'layer_id', 'param_name')
"""Group entries that mmengine's and mmpretrain's constructors set for every single parameter."""


@OPTIM_WRAPPER_CONSTRUCTORS.register_module()
class FewGroupsConstructor(DefaultOptimWrapperConstructor):
    """Like mmengine's constructor, but parameters with equal settings share a group instead of having one each.

    With a ``paramwise_cfg``, parameters without gradient (a target encoder's) are left out.
    ``paramwise_cfg=dict(flat_decay_mult=0.0)`` gives the papers' two groups: no weight decay for 1-D parameters, while
    position embedding and class token decay. Parameters that a model of another library, such as timm, names in
    ``no_weight_decay()`` do not decay then either.
    """

    def __call__(self, model: nn.Module) -> MMEngineOptimWrapper:
        if check := getattr(OPTIMIZERS.get(self.optimizer_cfg['type']), 'check_model', None):
            check(model)
        logger = MMLogger.get_current_instance()
        level = logger.level
        logger.setLevel(logging.WARNING)  # mmengine logs a line or two for every single parameter
        try:
            return super().__call__(model)
        finally:
            logger.setLevel(level)

    def add_params(self, params: list[dict], module: nn.Module, prefix: str = '', **kwargs: Any) -> None:
        if not any(parameter.requires_grad for parameter in module.parameters()):
            return
        super().add_params(params, module, prefix, **kwargs)
        if prefix == '':
            spared = set(_named_by_models(module)) if self.paramwise_cfg.get('flat_decay_mult') == 0 else set()
            for group in params:
                if spared.intersection(group['params']):
                    group['weight_decay'] = 0.0
            params[:] = self._merged(params)

    def _merged(self, groups: list[dict]) -> list[dict]:
        merged: dict[tuple, dict] = {}
        base = dict(lr=self.base_lr, weight_decay=self.base_wd)
        for group in groups:
            settings = {name: value for name, value in (base | group).items() if name not in PER_PARAMETER_KEYS}
            settings = {name: value for name, value in settings.items() if value is not None}
            merged.setdefault(tuple(sorted(settings.items())), {**settings, 'params': []})['params'] += group['params']
        return list(merged.values())


def _named_by_models(module: nn.Module) -> Iterator[nn.Parameter]:
    """Yield parameters that wrapped models exclude from decay: positions, class tokens, relative position tables."""
    models: list[Any] = [part.model for part in module.modules() if isinstance(part, WrappedBackbone)]
    for model in models:
        names: set[str] = getattr(model, 'no_weight_decay', set)()
        yield from (parameter for name, parameter in model.named_parameters() if name in names)


@OPTIM_WRAPPERS.register_module()
class OptimWrapper(MMEngineOptimWrapper):
    """Like mmengine's wrapper, but does not read the norm of the gradient from the device when it clips.

    The norm stays there as ``norm_before_clipping``; NonFiniteHook logs it as ``train/gradient_norm``.
    """

    norm_before_clipping: Tensor | None = None

    def _clip_grad(self) -> None:
        parameters = [p for group in self.param_groups for p in group['params'] if p.grad is not None]
        if parameters:
            self.norm_before_clipping = self.clip_func(parameters, **self.clip_grad_kwargs)


@OPTIM_WRAPPERS.register_module()
class BFloat16OptimWrapper(OptimWrapper):
    """Trains under bfloat16 autocast, on CPU and GPU alike. bfloat16 has float32's range and needs no loss scaling.

    (mmengine's ``AmpOptimWrapper`` refuses CPUs; use it for float16 on older GPUs.) Arguments same as ``OptimWrapper``.
    """

    @contextmanager
    def optim_context(self, model: nn.Module) -> Iterator[None]:
        device = next(model.parameters()).device.type
        with super().optim_context(model), torch.autocast(device, dtype=torch.bfloat16):
            yield
