"""Compiled blocks of a backbone: faster steps for a slower start."""

from typing import Any

import torch
from mmcv.cnn.bricks.drop import DropPath
from mmengine.config import Config
from torch import nn

from mixcl.engine.runners.sharding import blocks_of
from mixcl.errors import UserError

MOST_VERSIONS = 128
"""Limit of compiled versions of a block: one per resolution, gradient or not, and (of timm) drop-path rate; torch's
limit is 8."""


def check_compiling(cfg: Config) -> None:
    """Raise UserError if a config combines compiled blocks with something that does not work with them."""
    wrapper = str((cfg.get('model_wrapper_cfg') or {}).get('type'))
    other = 'model_wrapper_cfg' if wrapper.endswith('FullyShardedDataParallel') else 'activation_checkpointing'
    if cfg.get('compile') and cfg.get(other):
        raise UserError(f'`compile` cannot be combined with {other}={cfg[other]!r}; leave out one of them')


def compile_blocks(model: nn.Module, settings: bool | dict[str, Any]) -> int:
    """Compile every block of a model's backbones in place, and return their number; checkpoints stay as they are.

    Blocks that are alike are compiled together, once per resolution; they draw the same random numbers as uncompiled
    ones. ``settings`` is True, or arguments of ``torch.compile``.

    Raises:
        UserError: if there is nothing to compile, or PyTorch cannot compile on this machine.
    """
    target = getattr(getattr(model, 'target', None), 'backbone', None)
    backbones = [backbone for backbone in (getattr(model, 'backbone', None), target) if backbone is not None]
    blocks = [block for backbone in backbones for block in blocks_of(backbone)]
    if not blocks:
        raise UserError(f'`compile` is for the blocks of a backbone, but {type(model).__name__} has none; leave it out')
    check_compiler(next(blocks[0].parameters()).device)
    torch._dynamo.config.recompile_limit = MOST_VERSIONS
    defaults = dict(dynamic=False, options=dict(fallback_random=True))
    arguments = dict(settings) if isinstance(settings, dict) else {}
    if 'mode' in arguments or arguments.get('backend', 'inductor') != 'inductor':
        del defaults['options']  # torch takes either a mode or options
    for module in (module for backbone in backbones for module in backbone.modules()):
        if isinstance(module, DropPath):
            module.drop_prob = float(module.drop_prob)  # mmpretrain's numpy numbers would split the blocks
    for block in blocks:
        block.compile(**(defaults | arguments))
    return len(blocks)


def check_compiler(device: torch.device) -> None:
    try:
        torch.compile(torch.sin)(torch.zeros(2, device=device))
    except Exception as error:  # whatever the machine's compiler may raise
        reason = ' '.join(str(error).split())[:200]
        raise UserError(
            f'`compile`: PyTorch cannot compile on this machine ({type(error).__name__}: {reason}); leave it out, or '
            'install a C++ compiler (on a GPU: triton)'
        ) from error
