"""Hooks that change gradients just before the optimiser uses them: clip them by their running mean (APS) or one by one
(DINO), or drop them (DINO, SwAV, in the first epochs)."""

from typing import Any

import torch
from mmengine.hooks import Hook
from mmengine.runner import Runner
from torch import Tensor, nn
from torch.optim import Optimizer

from mixcl.backbones.transformer_parts import transformer_parts
from mixcl.distributed import replicated, unwrapped
from mixcl.engine.runners.sharding import MMFullyShardedDataParallel
from mixcl.errors import UserError
from mixcl.registry import HOOKS


class BlockClip:
    """Adaptive clipping of the gradients of one block of layers, taken together as one vector g.

    The running mean ``G <- momentum * G + (1 - momentum) * g`` follows the gradient before clipping. If
    ``|g| > alpha * |G|``, with G of the step before, g is scaled to the length of G. The first gradient is not clipped.
    Everything is decided on the device. ``mean`` is G so far, one flat tensor; None at the start.
    """

    def __init__(
        self, parameters: list[nn.Parameter], momentum: float, alpha: float, mean: Tensor | None = None
    ) -> None:
        self.parameters = parameters
        self.momentum = momentum
        self.alpha = alpha
        start = torch.zeros(sum(p.numel() for p in parameters)) if mean is None else mean
        self.mean = start.to(parameters[0])

    @torch.no_grad()
    def __call__(self, refused: Tensor | None = None) -> Tensor:
        """Clip the gradients in place; return whether they were too long, as a boolean scalar on the device.

        Nothing changes if a gradient is missing or not finite, or ``refused`` is 1 (a step that is not taken).
        """
        gradients = [p.grad for p in self.parameters if p.grad is not None]
        if len(gradients) < len(self.parameters):
            return torch.zeros((), dtype=torch.bool, device=self.mean.device)
        flat = torch.cat([gradient.flatten() for gradient in gradients])
        length, mean_length = torch.linalg.vector_norm(flat), torch.linalg.vector_norm(self.mean)
        counts = length.isfinite() if refused is None else length.isfinite() & (refused == 0)
        started = mean_length > 0
        clipped = counts & started & (length > self.alpha * mean_length)
        torch._foreach_mul_(gradients, torch.where(clipped, mean_length / (length + 1e-8), 1.0))
        followed = torch.where(started, torch.lerp(self.mean, flat, 1 - self.momentum), flat)
        self.mean = torch.where(counts, followed, self.mean)
        return clipped


@HOOKS.register_module()
class AdaptiveClipHook(Hook):
    """Clips the gradient of every transformer block by its running mean, just before each optimiser step (APS,
    "Asymmetric Patch Sampling for Contrastive Learning", 2023; see :class:`BlockClip`).

    It clips the gradients that the optimiser is about to use: of all processes, accumulated, and unscaled under mixed
    precision. Checkpoints hold the running means. The share of clipped blocks is logged as ``train/clipped_blocks``.

    Args:
        momentum: share of the running mean that is kept, in (0, 1).
        alpha: clip gradients longer than this multiple of the mean, above 0.
        blocks: name of the list of blocks in the model, for example 'backbone.layers'; by default the blocks of the
            backbone, if it is a vision transformer of mmpretrain, timm or torchvision.

    Raises:
        UserError: if the model is sharded, or its backbone has no such blocks.
    """

    # Runs before the hook that logs the outputs of a step, since it adds the share of clipped blocks to them.
    priority = 'HIGHEST'

    def __init__(self, momentum: float = 0.4, alpha: float = 1.05, blocks: str | None = None) -> None:
        self.momentum = momentum
        self.alpha = alpha
        self.blocks = blocks
        self.clips: list[BlockClip] = []
        self._stored: list[Tensor] = []
        self._share: Tensor | None = None

    def before_train(self, runner: Runner) -> None:
        if isinstance(runner.model, MMFullyShardedDataParallel):
            raise UserError(
                'AdaptiveClipHook keeps whole gradients of the blocks and cannot be used with '
                "model_wrapper_cfg.type='MMFullyShardedDataParallel'; leave out one of the two"
            )
        blocks = self.blocks_of(unwrapped(runner.model))
        means: list[Tensor | None] = [*self._stored] or [None] * len(blocks)
        self.clips = [
            BlockClip([p for p in block.parameters() if p.requires_grad], self.momentum, self.alpha, mean)
            for block, mean in zip(blocks, means, strict=True)
        ]
        runner.optim_wrapper.optimizer.register_step_pre_hook(self._clip)

    def blocks_of(self, model: nn.Module) -> list[nn.Module]:
        """Return the blocks of a model that are clipped, each on its own."""
        if self.blocks is not None:
            return list(model.get_submodule(self.blocks).children())
        backbone: Any = getattr(model, 'backbone', model)
        if (parts := transformer_parts(backbone)) is None:
            raise UserError(
                f'AdaptiveClipHook clips the blocks of a vision transformer, which this {type(backbone).__name__} does '
                "not have: name its list of blocks, such as blocks='backbone.model.stages', or leave the hook out"
            )
        return list(parts.blocks.children())

    def _clip(self, optimizer: Optimizer, *_: object) -> None:
        refused = getattr(optimizer, 'found_inf', None)  # set by a loss scaler or NonFiniteHook
        self._share = torch.stack([clip(refused) for clip in self.clips]).float().mean()

    def after_train_iter(self, runner: Runner, outputs: dict | None = None, **kwargs: Any) -> None:
        if self._share is not None and outputs is not None:
            outputs['clipped_blocks'], self._share = self._share, None

    def before_save_checkpoint(self, runner: Runner, checkpoint: dict) -> None:
        checkpoint['adaptive_clip'] = [clip.mean for clip in self.clips]

    def after_load_checkpoint(self, runner: Runner, checkpoint: dict) -> None:
        if runner._resume:
            self._stored = checkpoint.get('adaptive_clip', [])


@HOOKS.register_module()
class ParameterClipHook(Hook):
    """Limits the norm of each parameter's gradient separately, before each optimiser step.

    mmengine's ``clip_grad`` limits the norm of all gradients together.

    Args:
        max_norm: limit for one parameter's gradient, above 0 (DINO: 3).
    """

    def __init__(self, max_norm: float) -> None:
        self.max_norm = max_norm

    def before_train(self, runner: Runner) -> None:
        runner.optim_wrapper.optimizer.register_step_pre_hook(self._clip)

    def _clip(self, optimizer: Optimizer, *_: object) -> None:
        gradients = [p.grad for group in optimizer.param_groups for p in group['params'] if p.grad is not None]
        if gradients:
            # Each process has only a part of a sharded gradient's norm, to which nothing may be added.
            norms = [replicated(norm) for norm in torch._foreach_norm(gradients)]
            torch._foreach_mul_(gradients, [(self.max_norm / (norm + 1e-6)).clamp(max=1.0) for norm in norms])


@HOOKS.register_module()
class FrozenPrototypesHook(Hook):
    """Drops the gradients of prototypes (DINO's last layer, SwAV's objective) before every step of the first epochs."""

    def __init__(self, epochs: int = 1) -> None:
        self.epochs = epochs

    def before_train(self, runner: Runner) -> None:
        named = unwrapped(runner.model).named_parameters()
        frozen = [parameter for name, parameter in named if 'prototypes' in name.split('.')]

        def drop_gradients(*_: object) -> None:
            if runner.epoch < self.epochs:
                for parameter in frozen:
                    parameter.grad = None

        runner.optim_wrapper.optimizer.register_step_pre_hook(drop_gradients)
