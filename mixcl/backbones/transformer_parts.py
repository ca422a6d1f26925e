"""The parts of a vision transformer, whichever library it is of."""

from typing import NamedTuple

import timm
import torchvision
from mmpretrain.models import VisionTransformer
from torch import nn


class TransformerParts(NamedTuple):
    """Parts of a vision transformer.

    Attributes:
        blocks: in their order.
        norm: what follows the last of them.
        other_tokens: how many tokens precede the patches.
        has_class_token: whether the first of these is a class token.
    """

    blocks: nn.Module
    norm: nn.Module
    other_tokens: int
    has_class_token: bool


def transformer_parts(backbone: nn.Module) -> TransformerParts | None:
    """The parts of mmpretrain's, timm's or torchvision's vision transformer in a backbone; None of anything else."""
    for module in backbone.modules():
        match module:
            case VisionTransformer():
                norm = module.ln1 if module.final_norm else nn.Identity()
                return TransformerParts(module.layers, norm, module.num_extra_tokens, module.cls_token is not None)
            case timm.models.VisionTransformer() | timm.models.Eva():
                has_class = module.cls_token is not None
                return TransformerParts(module.blocks, module.norm, module.num_prefix_tokens, has_class)
            case torchvision.models.VisionTransformer():
                return TransformerParts(module.encoder.layers, module.encoder.ln, 1, True)
    return None
