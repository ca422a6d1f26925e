"""What backbones of other libraries have in common here: outputs, layers by depth, frozen blocks."""

from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

from mmengine.model import BaseModule
from timm.models import group_parameters
from torch import Tensor, nn

from mixcl.backbones.low_rank import add_low_rank, without_low_rank

HEAD = 'head.fc.weight'
"""Name of what would follow the last layer: a classifier, or a projector."""


class WrappedBackbone(BaseModule):
    """A model of another library as a backbone: its weights lie under ``model.``, and start as that library draws them.

    Args:
        model: maps images (B, C, H, W) to (B, D) or (B, D, h, w).
        frozen_blocks: so many first blocks, and what comes before them, keep their weights and statistics; 0 for what
            comes before only, None for nothing.
        lora: rank of low-rank updates that are trained instead of the weights, for example 8; None trains the weights.
            Weights without such updates can be loaded.
    """

    def __init__(self, model: nn.Module, frozen_blocks: int | None = None, lora: int | None = None) -> None:
        super().__init__()
        self.model = model
        self.new_parameters = ['*.lora_*'] if lora is not None else []  # names that weights to load need not have
        if lora is not None:
            add_low_rank(model, lora)
        self._depths = depths_of(model)
        for name, parameter in model.named_parameters():
            if frozen_blocks is not None and self._depths[name] <= frozen_blocks:
                parameter.requires_grad_(False)
        self._at_rest = [name for name, module in model.named_modules() if _is_frozen(module)]

    def init_weights(self) -> None:
        """Does nothing: the library has drawn the weights, or an own module has loaded them."""

    def train(self, mode: bool = True) -> 'WrappedBackbone':
        """As of any module; what is frozen keeps its batch-norm statistics and drops nothing."""
        super().train(mode)
        for name in self._at_rest:
            self.model.get_submodule(name).eval()
        return self

    def forward(self, images: Tensor) -> tuple[Tensor, ...]:
        """Encode images (B, C, H, W), normalised; a tuple with (B, D) or (B, D, h, w)."""
        return as_tuple(self.model(images))

    def get_layer_depth(self, param_name: str, prefix: str = '') -> tuple[int, int]:
        """Depth of a parameter and the number of depths, for layer-wise learning rates; what is not here is last.

        Models of timm are grouped as timm does: stem 0, then the blocks, the final norm with the last of them.
        """
        last = self._depths[HEAD]
        return self._depths.get(param_name.removeprefix(f'{prefix}model.'), last), last + 1

    def plain_model(self) -> nn.Module:
        """A copy of the model as its library has it, with low-rank updates merged into the weights."""
        return without_low_rank(self.model)


def as_tuple(outputs: Tensor | list | tuple) -> tuple[Tensor, ...]:
    return tuple(outputs) if isinstance(outputs, (list, tuple)) else (outputs,)


def depths_of(model: Any) -> dict[str, int]:
    """The depth of every parameter, from 0, and of :data:`HEAD`: as timm groups them, else by the blocks, in order.

    Blocks are the members of the outermost lists and sequences. What stands before them has depth 0, what follows a
    block has its depth.
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
