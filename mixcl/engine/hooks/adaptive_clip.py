"""Gradients clipped by their own running mean (APS)."""

import math

import torch
from mmengine.hooks import Hook
from mmengine.model import is_model_wrapper
from mmengine.runner import Runner
from torch import Tensor, nn

from mixcl.engine.runners.sharding import MMFullyShardedDataParallel
from mixcl.errors import UserError
from mixcl.registry import HOOKS


class BlockClip:
    """Adaptive clip of the gradients of one block of layers, taken together as one vector g.

    A running mean ``G <- momentum * G + (1 - momentum) * g`` follows the gradient as it comes, never the clipped one.
    Where ``|g| > alpha * |G|``, with G of the step before, g is scaled to the length of G. The first gradient passes.

    Args:
        parameters: of the block.
        momentum: share of G that stays, in (0, 1).
        alpha: above 0.
        mean: G so far, one tensor per parameter; empty at the start.
    """

    def __init__(self, parameters: list[nn.Parameter], momentum: float, alpha: float, mean: list[Tensor]) -> None:
        self.parameters = parameters
        self.momentum = momentum
        self.alpha = alpha
        self.mean = [tensor.to(parameter) for tensor, parameter in zip(mean, parameters, strict=False)]

    @torch.no_grad()
    def __call__(self) -> bool:
        """Clip the gradients in place and tell whether they were too long.

        Where one is missing, infinite or NaN, neither the gradients nor the mean change.
        """
        gradients = [parameter.grad for parameter in self.parameters]
        if any(gradient is None for gradient in gradients):
            return False
        # Before the first step there is no mean yet; any finite gradient then passes.
        length, mean_length = torch.stack([_length(gradients), _length(self.mean or gradients)]).tolist()
        if not math.isfinite(length):
            return False
        if self.mean:
            torch._foreach_lerp_(self.mean, gradients, 1 - self.momentum)
        else:
            self.mean = [gradient.clone() for gradient in gradients]
        if length <= self.alpha * mean_length:
            return False
        torch._foreach_mul_(gradients, mean_length / (length + 1e-8))
        return True


def _length(tensors: list[Tensor]) -> Tensor:
    return torch.linalg.vector_norm(torch.stack(torch._foreach_norm(tensors)))


@HOOKS.register_module()
class AdaptiveClipHook(Hook):
    """Clips the gradient of every transformer block by its running mean, just before each optimiser step (APS,
    "Asymmetric Patch Sampling for Contrastive Learning", 2023; see :class:`BlockClip`).

    It acts on what the optimiser is about to use: gradients of all processes, accumulated, and unscaled under mixed
    precision. The running means are stored in checkpoints, and read where a run is resumed. The share of blocks that
    were clipped is the scalar ``train/clipped_blocks``.

    Args:
        momentum: share of the running mean that stays, in [0, 1); the paper's 0 means no clipping.
        alpha: clip what is longer than so many times the mean, above 0.
        blocks: name in the model of the list of blocks; ``backbone.model.blocks`` for timm's transformers.

    Raises:
        UserError: for values out of range, or a model without such a list.
    """

    def __init__(self, momentum: float = 0.4, alpha: float = 1.05, blocks: str = 'backbone.layers') -> None:
        if not 0 <= momentum < 1:
            raise UserError(f'AdaptiveClipHook: momentum must lie in [0, 1), not {momentum!r}')
        if not alpha > 0:
            raise UserError(f'AdaptiveClipHook: alpha must be above 0, not {alpha!r}')
        self.momentum = momentum
        self.alpha = alpha
        self.blocks = blocks
        self.clips: list[BlockClip] = []
        self._stored: list[list[Tensor]] = []

    def before_train(self, runner: Runner) -> None:
        """Find the blocks, and be called before every optimiser step from now on."""
        if self.momentum == 0:
            return
        if isinstance(runner.model, MMFullyShardedDataParallel):
            raise UserError(
                'AdaptiveClipHook keeps whole gradients of the blocks and cannot be used with '
                "model_wrapper_cfg.type='MMFullyShardedDataParallel'; leave out one of the two"
            )
        blocks = self._find_blocks(runner.model.module if is_model_wrapper(runner.model) else runner.model)
        means = self._stored or [[] for _ in blocks]
        self.clips = [
            BlockClip([p for p in block.parameters() if p.requires_grad], self.momentum, self.alpha, mean)
            for block, mean in zip(blocks, means, strict=True)
        ]
        runner.optim_wrapper.optimizer.register_step_pre_hook(lambda *_: self._clip(runner))

    def before_save_checkpoint(self, runner: Runner, checkpoint: dict) -> None:
        """Store the running means."""
        checkpoint['adaptive_clip'] = [clip.mean for clip in self.clips]

    def after_load_checkpoint(self, runner: Runner, checkpoint: dict) -> None:
        """Take up the running means, where the run continues and does not only start from these weights."""
        if runner._resume:
            self._stored = checkpoint.get('adaptive_clip', [])

    def _clip(self, runner: Runner) -> None:
        clipped = [clip() for clip in self.clips]
        runner.message_hub.update_scalar('train/clipped_blocks', sum(clipped) / len(clipped))

    def _find_blocks(self, model: nn.Module) -> list[nn.Module]:
        try:
            blocks = list(model.get_submodule(self.blocks).children())
        except AttributeError:
            blocks = []
        if not blocks:
            raise UserError(
                f'AdaptiveClipHook: the model has no list of blocks {self.blocks!r}; give the name of the transformer '
                'blocks as blocks=, for example backbone.layers'
            )
        return blocks
