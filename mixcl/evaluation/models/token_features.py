"""Features of the tokens of vision transformers."""

from dataclasses import dataclass
from typing import NamedTuple

import torch
from mmpretrain.models import VisionTransformer
from timm.models import Eva
from timm.models import VisionTransformer as TimmTransformer
from torch import Tensor, nn

from mixcl.backbones import TimmBackbone
from mixcl.errors import UserError
from mixcl.evaluation.models.output_features import Feature, outputs_of
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
        name, transformer = type(self).__name__, _transformer(backbone)
        if transformer is None:
            raise UserError(
                f'{name} needs a vision transformer with a class token, not a {type(backbone).__name__}; '
                "use feature=dict(type='Output')"
            )
        if not 1 <= self.blocks <= len(transformer.blocks):
            raise UserError(f'{name}: blocks must lie between 1 and {len(transformer.blocks)}, not {self.blocks}')

    def __call__(self, backbone: nn.Module, images: Tensor) -> tuple[Tensor]:
        """((B, blocks * C),)."""
        return (torch.cat([tokens[:, 0] for tokens in self.tokens(backbone, images)], dim=1),)

    def tokens(self, backbone: nn.Module, images: Tensor) -> list[Tensor]:
        """(B, L, C) of each of the blocks, through the final norm, which the backbone applies to the last alone."""
        transformer = _transformer(backbone)
        outputs = outputs_of(list(transformer.blocks)[-self.blocks :], lambda: backbone(images))
        return [transformer.norm(tokens) for tokens in outputs]


@MODELS.register_module()
@dataclass(frozen=True)
class ClassTokenAndAverage(LastClassTokens):
    """The class tokens of the last blocks and the average of the last block's patches, all through the final norm.

    DINO's linear probe of ViT-B, with one block (same place as :class:`LastClassTokens`).

    Args:
        blocks: how many, from 1 to the depth of the backbone.
    """

    blocks: int = 1

    def __call__(self, backbone: nn.Module, images: Tensor) -> tuple[Tensor]:
        """((B, (blocks + 1) * C),)."""
        tokens = self.tokens(backbone, images)
        average = tokens[-1][:, _transformer(backbone).prefix_tokens :].mean(dim=1)
        return (torch.cat([*(block[:, 0] for block in tokens), average], dim=1),)


class _Transformer(NamedTuple):
    blocks: nn.ModuleList
    norm: nn.Module
    prefix_tokens: int


def _transformer(backbone: nn.Module) -> _Transformer | None:
    """The parts of a vision transformer with a class token; None of anything else."""
    if isinstance(backbone, VisionTransformer) and backbone.cls_token is not None:
        norm = backbone.ln1 if backbone.final_norm else nn.Identity()
        return _Transformer(backbone.layers, norm, backbone.num_extra_tokens)
    model = backbone.model if isinstance(backbone, TimmBackbone) else None
    if isinstance(model, (TimmTransformer, Eva)) and model.cls_token is not None:
        return _Transformer(model.blocks, model.norm, model.num_prefix_tokens)
    return None
