"""What a backbone is, read from the built module: configs may name it in many ways."""

from collections.abc import Sequence
from dataclasses import dataclass

from mmpretrain.models import ResNet, ResNet_CIFAR, VisionTransformer
from torch import nn

from mixcl.weights.export.base import Exported


@dataclass(frozen=True)
class ViTShape:
    """A plain vision transformer.

    Attributes:
        width: of a token.
        depth: blocks.
        heads: of attention, which no weight tells.
        hidden: channels within the blocks' MLPs.
        patch: side of a patch, in pixels.
        size: side of the images, in pixels.
        qkv_bias: whether queries, keys and values have a bias.
        eps: of the layer norms.
    """

    width: int
    depth: int
    heads: int
    hidden: int
    patch: int
    size: int
    qkv_bias: bool
    eps: float


def vit_shape(exported: Exported, target: str, others: str = 'onnx') -> ViTShape | None:
    """The shape of a vision transformer; None of anything else.

    Raises:
        UserError: if it gives no class token, or its patches or images are not square.
    """
    vit = exported.backbone
    if not isinstance(vit, VisionTransformer):
        return None
    if vit.out_type != 'cls_token' or not vit.final_norm:
        raise exported.refusal(target, 'its output is not the class token after the final norm', others)
    block, projection = vit.layers[0], vit.patch_embed.projection
    rows, columns = vit.patch_resolution
    patch, width = projection.kernel_size
    if rows != columns or patch != width:
        raise exported.refusal(target, 'its images or patches are not square', others)
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


@dataclass(frozen=True)
class ResNetShape:
    """A ResNet of 18, 34, 50, 101 or 152 layers.

    Attributes:
        depth: number of layers.
        blocks: per stage.
        channels: that come out of each stage.
        bottleneck: whether blocks have three convolutions.
        small_stem: a stem for small images: 3x3, without stride and pooling.
    """

    depth: int
    blocks: Sequence[int]
    channels: Sequence[int]
    bottleneck: bool
    small_stem: bool


def resnet_shape(exported: Exported, target: str, others: str = 'mmpretrain or onnx') -> ResNetShape | None:
    """The shape of a ResNet; None of anything else.

    Raises:
        UserError: if its widths, its stem or its strides are not the usual ones.
    """
    resnet = exported.backbone
    if not isinstance(resnet, ResNet):
        return None
    usual = (resnet.base_channels, resnet.stem_channels, tuple(resnet.strides), tuple(resnet.dilations))
    if (
        usual != (64, 64, (1, 2, 2, 2), (1, 1, 1, 1))
        or resnet.deep_stem
        or resnet.avg_down
        or type(resnet)
        not in (
            ResNet,
            ResNet_CIFAR,
        )
    ):
        raise exported.refusal(target, 'its stem, widths or strides are not those of a plain ResNet', others)
    stages: list[nn.Sequential] = [getattr(resnet, name) for name in resnet.res_layers]
    return ResNetShape(
        depth=resnet.depth,
        blocks=[len(stage) for stage in stages],
        channels=[stage[-1].out_channels for stage in stages],
        bottleneck=stages[0][0].expansion > 1,
        small_stem=isinstance(resnet, ResNet_CIFAR),
    )
