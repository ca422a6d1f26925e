"""LARS as MoCo v3 uses it to train ResNets, and in mmpretrain's form; neither reads a norm from the device."""

from collections.abc import Iterable

import torch
from mmpretrain.engine.optimizers import LARS as MMPretrainLARS
from torch import Tensor
from torch.optim import Optimizer

from mixcl.distributed import replicated
from mixcl.registry import OPTIMIZERS


@OPTIMIZERS.register_module()
class MoCoLARS(Optimizer):
    """Layer-wise adaptive rates in the form of MoCo v3's released code.

    For parameters of two or more dimensions, ``d = g + weight_decay * p`` and
    ``d <- d * trust_coefficient * |p| / |d|``; others take their plain gradient, without decay and adaptation. Then
    ``mu <- momentum * mu + d`` and ``p <- p - lr * mu``. mmpretrain's ``LARS`` folds the learning rate into the
    momentum buffer and adapts by ``|p| / (|g| + weight_decay |p|)``; trajectories differ when the rate changes.

    As with torch's fused optimisers, a step changes nothing if the attribute ``found_inf``, a scalar on the device,
    is 1.
    """

    def __init__(
        self,
        params: Iterable[Tensor] | Iterable[dict],
        lr: float,
        weight_decay: float = 0.0,
        momentum: float = 0.9,
        trust_coefficient: float = 0.001,
    ) -> None:
        super().__init__(
            params, dict(lr=lr, weight_decay=weight_decay, momentum=momentum, trust_coefficient=trust_coefficient)
        )

    @torch.no_grad()
    def step(self, closure: None = None) -> None:  # type: ignore[override]  # mmengine gives no closure
        for group in self.param_groups:
            for parameter in group['params']:
                if parameter.grad is not None:
                    self._update(parameter, group)

    def _update(self, parameter: Tensor, group: dict) -> None:
        direction = parameter.grad
        if parameter.ndim > 1:
            direction = direction.add(parameter, alpha=group['weight_decay'])
            ratio = group['trust_coefficient'] * parameter.norm() / direction.norm()
            # A parameter or a direction of length 0 is not adapted.
            direction = direction * torch.where(torch.isfinite(ratio) & (ratio > 0), ratio, torch.ones_like(ratio))
        state = self.state[parameter]
        if 'momentum' not in state:
            state['momentum'] = torch.zeros_like(parameter)
        moved = state['momentum'] * group['momentum'] + direction
        found_inf = getattr(self, 'found_inf', None)
        if found_inf is None:
            parameter.sub_(moved, alpha=group['lr'])
        else:
            moved = torch.where(found_inf > 0, state['momentum'], moved)
            parameter.sub_(moved * (found_inf == 0), alpha=group['lr'])
        state['momentum'].copy_(moved)


@OPTIMIZERS.register_module()
class LARS(MMPretrainLARS):
    """mmpretrain's ``LARS`` ("Large Batch Training of Convolutional Networks", 2017, Algorithm 1), which reads nothing
    from the device: same arguments, results and states. mmpretrain reads two norms per parameter in every step.

    As with torch's fused optimisers, a step changes nothing if the attribute ``found_inf``, a scalar on the device,
    is 1.
    """

    @torch.no_grad()
    def step(self, closure: None = None) -> None:  # mmengine gives no closure
        for group in self.param_groups:
            for parameter in group['params']:
                if parameter.grad is not None:
                    self._update(parameter, group)

    def _update(self, parameter: Tensor, group: dict) -> None:
        moved = parameter.grad.add(parameter, alpha=group['weight_decay']).mul(self._rate(parameter, group))
        found_inf = getattr(self, 'found_inf', None)
        if group['momentum']:
            state, step = self.state[parameter], moved
            if 'momentum_buffer' in state:
                moved = state['momentum_buffer'] * group['momentum'] + step * (1 - group['dampening'])
            else:
                state['momentum_buffer'] = torch.zeros_like(parameter)
            if found_inf is not None:
                moved = torch.where(found_inf > 0, state['momentum_buffer'], moved)
            state['momentum_buffer'].copy_(moved)
            moved = step.add(moved, alpha=group['momentum']) if group['nesterov'] else moved
        parameter.sub_(moved if found_inf is None else torch.where(found_inf > 0, torch.zeros_like(moved), moved))

    def _rate(self, parameter: Tensor, group: dict) -> float | Tensor:
        if group.get('lars_exclude', False):
            return group['lr']
        # Whole norms, since nothing may be added to a process's part; in double precision, like mmpretrain's numbers.
        weight, gradient = (replicated(part.norm()).double() for part in (parameter, parameter.grad))
        rate = group['eta'] * weight / (gradient + group['weight_decay'] * weight + self.eps)
        return group['lr'] * torch.where((weight != 0) & (gradient != 0), rate, torch.ones_like(rate))


def skips_on_device(optimizer: Optimizer) -> bool:
    """Whether an optimiser changes nothing if its ``found_inf``, a scalar on the device, is 1.

    LARS does so, and torch's fused optimisers from their second step on: in the first, SGD would keep an unfilled
    momentum buffer.
    """
    fused = all(group.get('fused') for group in optimizer.param_groups)
    return isinstance(optimizer, (MoCoLARS, LARS)) or (fused and len(optimizer.state) > 0)
