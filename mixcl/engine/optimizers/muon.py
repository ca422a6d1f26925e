"""Muon for the matrices of vision transformers, with AdamW for everything else."""

from collections.abc import Iterable
from contextlib import nullcontext
from typing import Any

import torch
from torch import Tensor, nn
from torch.optim import AdamW, Optimizer
from torch.overrides import TorchFunctionMode

from mixcl.errors import UserError
from mixcl.registry import OPTIMIZERS


@OPTIMIZERS.register_module()
class Muon(Optimizer):
    """torch's ``Muon`` for parameters of two dimensions and ``AdamW`` for all others, as one optimiser.

    Muon's steps get the size of AdamW's (``match_rms_adamw``), so that one learning rate and one weight decay serve
    both. Groups of parameters are split in two; schedules set the rate of each. On a CPU, matrices are orthogonalised
    in float32, and not in bfloat16.

    Args:
        params: parameters, or groups of them.
        lr: learning rate, as of AdamW.
        weight_decay: decoupled, as of AdamW.
        momentum: of Muon.
        betas: of AdamW.

    Raises:
        UserError: if torch is older than 2.9, or there is no parameter of two dimensions.

    Source: Jordan, Muon: an optimizer for hidden layers in neural networks, 2024; the size of its steps: Liu et al.,
    Muon is scalable for LLM training, https://arxiv.org/abs/2502.16982, section 2.2.
    """

    def __init__(
        self,
        params: Iterable[Tensor] | Iterable[dict],
        lr: float = 1e-3,
        weight_decay: float = 0.1,
        momentum: float = 0.95,
        betas: tuple[float, float] = (0.9, 0.999),
    ) -> None:
        if not hasattr(torch.optim, 'Muon'):
            raise UserError(
                f'optimizer.type=Muon needs torch 2.9 or newer, not {torch.__version__}: install that, or take AdamW'
            )
        super().__init__(params, dict(lr=lr, weight_decay=weight_decay))
        whole = [dict(group) for group in self.param_groups]
        matrices, others = (_groups_of(whole, matrix) for matrix in (True, False))
        if not matrices:
            raise UserError('optimizer.type=Muon is for matrices, but no parameter has two dimensions; take AdamW')
        settings: dict[str, Any] = dict(lr=lr, weight_decay=weight_decay)
        self.parts: list[Optimizer] = [
            torch.optim.Muon(matrices, **settings, momentum=momentum, adjust_lr_fn='match_rms_adamw')
        ]
        if others:
            self.parts.append(AdamW(others, **settings, betas=betas))
        self.param_groups = [group for part in self.parts for group in part.param_groups]
        self._share()

    @staticmethod
    def check_model(model: nn.Module) -> None:
        """Raise UserError if the backbone of a model, or the model, is mostly kernels of convolutions."""
        backbone = getattr(model, 'backbone', model)
        sizes = {2: 0, 4: 0}
        for parameter in backbone.parameters():
            if parameter.requires_grad and parameter.ndim in sizes:
                sizes[parameter.ndim] += parameter.numel()
        if sizes[4] > sizes[2]:
            raise UserError(
                f'optimizer.type=Muon is for matrices, but {type(backbone).__name__} has mostly kernels of '
                f'convolutions ({sizes[4]:,} weights, {sizes[2]:,} in matrices): take a vision transformer, or AdamW'
            )

    def __setstate__(self, state: dict) -> None:
        super().__setstate__(state)  # of a checkpoint, with groups and states of their own
        self._share()

    @torch.no_grad()
    def step(self, closure: None = None) -> None:  # type: ignore[override]  # mmengine gives no closure
        matrices, *others = self.parts
        on_cpu = matrices.param_groups[0]['params'][0].device.type == 'cpu'
        with _WithoutBFloat16() if on_cpu else nullcontext():
            matrices.step()
        for part in others:
            part.step()

    def _share(self) -> None:
        """Let the parts have the groups, whose rates schedules set, and the states, which checkpoints hold."""
        first = len(self.parts[0].param_groups)
        for part, groups in zip(self.parts, (self.param_groups[:first], self.param_groups[first:]), strict=False):
            part.param_groups, part.state = groups, self.state


class _WithoutBFloat16(TorchFunctionMode):
    """Lets torch's Muon orthogonalise in float32, since CPUs without bfloat16 take 45 times as long for a product."""

    def __torch_function__(self, function: Any, types: Any, args: tuple = (), kwargs: dict | None = None) -> Any:
        if function is Tensor.bfloat16:
            return args[0].to(torch.float32, copy=True)
        return function(*args, **(kwargs or {}))


def _groups_of(groups: list[dict], matrix: bool) -> list[dict]:
    """Return those groups that have matrices, or others, with these alone."""
    parts = [{**group, 'params': [each for each in group['params'] if (each.ndim == 2) == matrix]} for group in groups]
    return [part for part in parts if part['params']]
