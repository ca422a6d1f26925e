"""The parts of a vision transformer from any library."""

from typing import NamedTuple

import timm
import torchvision
from mmpretrain.models import VisionTransformer
from torch import nn


class TransformerParts(NamedTuple):
    """Parts of a vision transformer.

    Attributes:
        blocks: the blocks in order.
        norm: the norm after the last block.
        num_prefix_tokens: number of tokens before the patches.
        has_class_token: whether the first token is a class token.
    """

    blocks: nn.Module
    norm: nn.Module
    num_prefix_tokens: int
    has_class_token: bool


def transformer_parts(backbone: nn.Module) -> TransformerParts | None:
    """Find the parts of the mmpretrain, timm or torchvision vision transformer in a backbone; None if it has none."""
    for module in backbone.modules():
        match module:
            case VisionTransformer():
                norm = module.ln1 if module.final_norm else nn.Identity()
                return TransformerParts(module.layers, norm, module.num_extra_tokens, module.cls_token is not None)
            case timm.models.VisionTransformer() | timm.models.Eva():
                has_class = module.cls_token is not None
                return TransformerParts(module.blocks, module.norm, module.num_prefix_tokens, has_class)
            case timm.models.NaFlexVit():
                has_class = module.has_class_token
                return TransformerParts(module.blocks, module.norm, module.num_prefix_tokens, has_class)
            case torchvision.models.VisionTransformer():
                return TransformerParts(module.encoder.layers, module.encoder.ln, 1, True)
    return None
