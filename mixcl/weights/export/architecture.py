"""What a backbone is, read from the built module: configs may name it in many ways."""

from dataclasses import dataclass
from typing import Any

from mmpretrain.models import ResNet, ResNet_CIFAR, VisionTransformer

from mixcl.weights.export.base import Exported


@dataclass(frozen=True)
class ViTShape:
    """A plain vision transformer: channels of a token and within MLPs, sides of images and patches in pixels."""

    width: int
    depth: int
    heads: int
    hidden: int
    patch: int
    size: int
    qkv_bias: bool
    eps: float


def vit_shape(exported: Exported, target: str) -> ViTShape | None:
    """The shape of a vision transformer of mmpretrain's names; None of anything else. Unusual ones are refused."""
    vit = exported.backbone
    if not isinstance(vit, VisionTransformer):
        return None
    (rows, columns), (patch, width) = vit.patch_resolution, vit.patch_embed.projection.kernel_size
    if vit.out_type != 'cls_token' or not vit.final_norm or rows != columns or patch != width:
        reason = 'its output is not the class token after the final norm, or its images or patches are not square'
        raise exported.refusal(target, reason)
    block: Any = vit.layers[0]
    return ViTShape(
        width=vit.embed_dims,
        depth=len(vit.layers),
        heads=block.attn.num_heads,
        hidden=block.ffn.feedforward_channels,
        patch=patch,
        size=rows * patch,
        qkv_bias=block.attn.qkv.bias is not None,
        eps=vit.ln1.eps,
    )


def plain_resnet(exported: Exported, target: str, small_stem: bool = False) -> Any:
    """The backbone if it is a ResNet of mmpretrain; None if it is anything else. Unusual ones are refused."""
    resnet = exported.backbone
    if not isinstance(resnet, ResNet):
        return None
    if isinstance(resnet, ResNet_CIFAR) and not small_stem:
        reason = f'{target} has no ResNet with the stem for small images (3x3, without stride and pooling)'
        raise exported.refusal(target, reason, 'torchvision')
    usual = resnet.base_channels == resnet.stem_channels == 64 and tuple(resnet.strides) == (1, 2, 2, 2)
    if not usual or resnet.deep_stem or type(resnet) not in (ResNet, ResNet_CIFAR):
        raise exported.refusal(target, 'its stem, widths or strides are not those of a plain ResNet')
    return resnet
