"""The base of backbones from other libraries: outputs, layers by depth, frozen blocks."""

from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

from mmengine.model import BaseModule
from timm.models import group_parameters
from torch import Tensor, nn

from mixcl.backbones.low_rank import add_low_rank, without_low_rank

HEAD = 'head.fc.weight'
"""Placeholder name of what follows the last layer: a classifier or a projector."""


class WrappedBackbone(BaseModule):
    """A model of another library as a backbone. Its weights lie under ``model.``, and that library initialises them.

    Args:
        model: maps images (B, C, H, W) to (B, D) or (B, D, h, w).
        frozen_blocks: number of first blocks that, like everything before them, keep their weights and statistics; 0
            freezes only what comes before the blocks, None nothing.
        lora: rank of low-rank updates that are trained instead of the weights, for example 8; None trains the weights.
            Weights without such updates can be loaded.
    """

    def __init__(self, model: nn.Module, frozen_blocks: int | None = None, lora: int | None = None) -> None:
        super().__init__()
        self.model = model
        self.new_parameters = ['*.lora_*'] if lora is not None else []  # names that pretrained weights may lack
        if lora is not None:
            add_low_rank(model, lora)
        self._depths = depths_of(model)
        for name, parameter in model.named_parameters():
            if frozen_blocks is not None and self._depths[name] <= frozen_blocks:
                parameter.requires_grad_(False)
        self._frozen_modules = [name for name, module in model.named_modules() if _is_frozen(module)]

    def init_weights(self) -> None:
        """Do nothing: the library has drawn the weights, or a user's module has loaded its own."""

    def train(self, mode: bool = True) -> 'WrappedBackbone':
        """Set the mode; frozen modules still keep their batch-norm statistics and drop nothing."""
        super().train(mode)
        for name in self._frozen_modules:
            self.model.get_submodule(name).eval()
        return self

    def forward(self, images: Tensor) -> tuple[Tensor, ...]:
        """Encode normalised images (B, C, H, W) to a tuple with (B, D) or (B, D, h, w)."""
        return as_tuple(self.model(images))

    def get_layer_depth(self, param_name: str, prefix: str = '') -> tuple[int, int]:
        """Return the depth of a parameter (last if unknown) and the number of depths, for layer-wise learning rates.

        Models of timm are grouped as in timm: stem 0, then the blocks; the final norm goes with the last block.
        """
        last = self._depths[HEAD]
        return self._depths.get(param_name.removeprefix(f'{prefix}model.'), last), last + 1

    def plain_model(self) -> nn.Module:
        """Return a copy of the library's model, with low-rank updates merged into the weights."""
        return without_low_rank(self.model)


def as_tuple(outputs: Tensor | list | tuple) -> tuple[Tensor, ...]:
    return tuple(outputs) if isinstance(outputs, (list, tuple)) else (outputs,)


def depths_of(model: Any) -> dict[str, int]:
    """Return the depth of every parameter, from 0, and of :data:`HEAD`: by timm's groups, else by the order of blocks.

    Blocks are the members of the outermost ``ModuleList`` and ``Sequential``. Parameters before the first block have
    depth 0, those after a block have its depth.
    """
    if hasattr(model, 'group_matcher'):
        with_head: Any = SimpleNamespace(named_parameters=lambda: [*model.named_parameters(), (HEAD, None)])
        return group_parameters(with_head, model.group_matcher(coarse=False), reverse=True)
    blocks, depths, depth = [f'{name}.' for name in _block_names(model)], {}, 0
    for name, _ in model.named_parameters():
        depth = next((number for number, block in enumerate(blocks, 1) if name.startswith(block)), depth)
        depths[name] = depth
    return depths | {HEAD: depth + 1}


def _block_names(module: nn.Module, prefix: str = '') -> Iterator[str]:
    for name, child in module.named_children():
        if isinstance(child, (nn.ModuleList, nn.Sequential)):
            yield from (f'{prefix}{name}.{member}' for member, _ in child.named_children())
        else:
            yield from _block_names(child, f'{prefix}{name}.')


def _is_frozen(module: Any) -> bool:
    parameters = list(module.parameters())
    return bool(parameters) and not any(parameter.requires_grad for parameter in parameters)
