"""Speed for start-up time: the blocks of a backbone, compiled."""

from typing import Any

import torch
from mmengine.config import Config
from torch import nn

from mixcl.engine.runners.sharding import blocks_of
from mixcl.errors import UserError

MOST_VERSIONS = 128
"""Of a block's code: one per rate of drop path, resolution, with and without gradient; torch gives up after 8."""


def check_compiling(cfg: Config) -> None:
    """Raise UserError if a config asks for compiled blocks beside something with which they do not work."""
    wrapper = str((cfg.get('model_wrapper_cfg') or {}).get('type'))
    other = 'model_wrapper_cfg' if wrapper.endswith('FullyShardedDataParallel') else 'activation_checkpointing'
    if cfg.get('compile') and cfg.get(other):
        raise UserError(f'`compile` does not go with {other}={cfg[other]!r}; leave out one')


def compile_blocks(model: nn.Module, settings: bool | dict[str, Any]) -> int:
    """Compile every block of a model's backbones in place, and count them; checkpoints stay as they are.

    Blocks are compiled once for all that are alike, each resolution by itself; they draw the same random numbers as
    without. ``settings`` is True, or arguments of ``torch.compile``.

    Raises:
        UserError: if there is nothing to compile, or PyTorch cannot compile on this machine.
    """
    target = getattr(getattr(model, 'target', None), 'backbone', None)
    backbones = [part for part in (getattr(model, 'backbone', None), target) if part is not None]
    blocks = [block for backbone in backbones for block in blocks_of(backbone)]
    if not blocks:
        raise UserError(f'`compile` is for the blocks of a backbone, but {type(model).__name__} has none; leave it out')
    _try(next(blocks[0].parameters()).device)
    torch._dynamo.config.recompile_limit = MOST_VERSIONS
    defaults = dict(dynamic=False, options=dict(fallback_random=True))
    given = dict(settings) if isinstance(settings, dict) else {}
    if 'mode' in given or given.get('backend', 'inductor') != 'inductor':
        del defaults['options']  # torch takes a mode or options
    for block in blocks:
        block.compile(**(defaults | given))
    return len(blocks)


def _try(device: torch.device) -> None:
    try:
        torch.compile(torch.sin)(torch.zeros(2, device=device))
    except Exception as error:  # whatever the compiler of the machine may raise
        reason = ' '.join(str(error).split())[:200]
        raise UserError(
            f'`compile`: PyTorch cannot compile on this machine ({type(error).__name__}: {reason}); leave it out, or '
            'install a C++ compiler (on a GPU: triton)'
        ) from error
