"""Gradient clipping parameter by parameter, as DINO does it."""

import torch
from mmengine.hooks import Hook
from mmengine.runner import Runner
from torch import Tensor

from mixcl.distributed import replicated
from mixcl.errors import UserError
from mixcl.registry import HOOKS


@HOOKS.register_module()
class ParameterClipHook(Hook):
    """Limits the norm of every parameter's gradient by itself before each optimiser step.

    mmengine's ``clip_grad`` limits the norm of all gradients together, so that one layer's large gradient shrinks
    the steps of all others. Sees the gradients after loss scaling was undone.

    Args:
        max_norm: of one parameter's gradient, above 0 (DINO: 3).
    """

    def __init__(self, max_norm: float) -> None:
        if not max_norm > 0:
            raise UserError(f'ParameterClipHook: max_norm must be above 0, not {max_norm!r}')
        self.max_norm = max_norm

    def before_train(self, runner: Runner) -> None:
        optimizer = runner.optim_wrapper.optimizer

        def clip(*_: object) -> None:
            parameters = [parameter for group in optimizer.param_groups for parameter in group['params']]
            clip_each([parameter.grad for parameter in parameters if parameter.grad is not None], self.max_norm)

        optimizer.register_step_pre_hook(clip)


def clip_each(gradients: list[Tensor], max_norm: float) -> None:
    """Scale every gradient that is longer than ``max_norm`` down to it, in place."""
    if not gradients:
        return
    # Of a sharded gradient each process has a part of the norm, to which nothing may be added.
    norms = [replicated(norm) for norm in torch._foreach_norm(gradients)]
    torch._foreach_mul_(gradients, [(max_norm / (norm + 1e-6)).clamp(max=1.0) for norm in norms])
