"""Features of the tokens of vision transformers."""

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from mixcl.backbones.transformer_parts import transformer_parts
from mixcl.encoders.output_features import Feature
from mixcl.encoders.outputs import outputs_of
from mixcl.errors import UserError
from mixcl.registry import MODELS


@MODELS.register_module()
@dataclass(frozen=True)
class LastClassTokens(Feature):
    """The class tokens of the last blocks, each through the final layer norm, concatenated.

    DINO's linear probe of ViT-S ("Emerging Properties in Self-Supervised Vision Transformers", 2021, appendix F.2).

    Args:
        blocks: how many, from 1 to the depth of the backbone.
    """

    blocks: int = 4

    def check(self, backbone: nn.Module) -> None:
        name, parts = type(self).__name__, transformer_parts(backbone)
        if parts is None or not parts.has_class_token:
            raise UserError(
                f'{name} needs a vision transformer with a class token, not a {type(backbone).__name__}; '
                "use feature=dict(type='Output')"
            )
        depth = len(list(parts.blocks.children()))
        if not 1 <= self.blocks <= depth:
            raise UserError(f'{name}: blocks must lie between 1 and {depth}, not {self.blocks}')

    def __call__(self, backbone: nn.Module, images: Tensor) -> tuple[Tensor]:
        """Return ((B, blocks * C),)."""
        return (torch.cat([tokens[:, 0] for tokens in self.tokens(backbone, images)], dim=1),)

    def tokens(self, backbone: nn.Module, images: Tensor) -> list[Tensor]:
        """Return (B, L, C) of each block after the final norm, which the backbone applies to the last block alone."""
        parts: Any = transformer_parts(backbone)
        outputs = outputs_of(list(parts.blocks.children())[-self.blocks :], lambda: backbone(images))
        return [parts.norm(tokens) for tokens in outputs]


@MODELS.register_module()
@dataclass(frozen=True)
class ClassTokenAndAverage(LastClassTokens):
    """The class tokens of the last blocks and the average of the last block's patches, all through the final norm.

    DINO's linear probe of ViT-B, with one block (same source as :class:`LastClassTokens`).

    Args:
        blocks: how many, from 1 to the depth of the backbone.
    """

    blocks: int = 1

    def __call__(self, backbone: nn.Module, images: Tensor) -> tuple[Tensor]:
        """Return ((B, (blocks + 1) * C),)."""
        tokens = self.tokens(backbone, images)
        parts: Any = transformer_parts(backbone)
        average = tokens[-1][:, parts.num_prefix_tokens :].mean(dim=1)
        return (torch.cat([*(block[:, 0] for block in tokens), average], dim=1),)
