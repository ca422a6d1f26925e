"""What a backbone is, read from the built module: configs may name it in many ways."""

import contextlib
import re
from dataclasses import dataclass
from typing import Any

import timm
import torch
from mmpretrain.models import ResNet, ResNet_CIFAR, VisionTransformer
from torch import nn

from mixcl.backbones import TimmBackbone, TorchvisionBackbone
from mixcl.errors import UserError
from mixcl.registry import MODELS
from mixcl.weights.export.base import Exported
from mixcl.weights.pretrained import PretrainedBackbone, load_backbone


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
    """The shape of a vision transformer of mmpretrain's names; None of anything else.

    Raises:
        UserError: if it does not give the class token, or its patches or images are not square.
    """
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
    """The backbone if it is a ResNet of mmpretrain; None if it is anything else.

    Raises:
        UserError: if its widths or strides are unusual, or its stem is, unless that for small images may be.
    """
    resnet, others = exported.backbone, 'mmpretrain or onnx'
    if not isinstance(resnet, ResNet):
        return None
    if isinstance(resnet, ResNet_CIFAR) and not small_stem:
        reason = f'{target} has no ResNet with the stem for small images (3x3, without stride and pooling)'
        raise exported.refusal(target, reason, others)
    usual = resnet.base_channels == resnet.stem_channels == 64 and tuple(resnet.strides) == (1, 2, 2, 2)
    if not usual or resnet.deep_stem or type(resnet) not in (ResNet, ResNet_CIFAR):
        raise exported.refusal(target, 'its stem, widths or strides are not those of a plain ResNet', others)
    return resnet


def in_mmpretrain(exported: Exported) -> Exported:
    """A plain ResNet or vision transformer of timm or torchvision as mmpretrain's; anything else as it is."""
    if not isinstance(exported.backbone, TimmBackbone | TorchvisionBackbone):
        return exported
    model, given = exported.backbone.plain_model(), exported.preprocessing
    depth = re.fullmatch(r'resnet(18|34|50|101|152)', exported.config['name'].partition('.')[0])
    match model:
        case timm.models.VisionTransformer(blocks=blocks, patch_embed=embedding, norm=nn.LayerNorm(eps=eps)):
            config = dict(
                type='mmpretrain.VisionTransformer',
                arch=dict(
                    embed_dims=model.embed_dim,
                    num_layers=len(blocks),
                    num_heads=blocks[0].attn.num_heads,
                    feedforward_channels=blocks[0].mlp.fc1.out_features,
                ),
                img_size=embedding.img_size,
                patch_size=embedding.patch_size[0],
                qkv_bias=blocks[0].attn.qkv.bias is not None,
                norm_cfg=dict(type='LN', eps=eps),
            )
        case _ if depth:
            config = dict(type='mmpretrain.ResNet', depth=int(depth.group(1)))
        case _:
            return exported
    config['in_channels'] = given.channels
    with torch.random.fork_rng(devices=()), contextlib.suppress(UserError, RuntimeError):
        twin = Exported(MODELS.build(dict(config)), config, given, exported.source)
        load_backbone(twin.backbone, PretrainedBackbone(exported.source, 'online', model.state_dict()))
        twin.backbone.requires_grad_(False).eval()
        images = torch.randn(1, given.channels, given.size, given.size)
        if torch.allclose(twin.features(images), exported.features(images), rtol=1e-4, atol=1e-4):
            return twin
    return exported  # of another pooling or stem, with other norms
