"""Backbones of mmdet's detectors."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from torch import Tensor

from mixcl.weights.export.architecture import resnet_shape, vit_shape
from mixcl.weights.export.base import Exported, Loading, write_torch
from mixcl.weights.export.to_mmpretrain import preprocessor, write_config

LOAD = """{imports}
from mmdet.registry import MODELS
from mmengine.config import Config
model = MODELS.build(Config.fromfile('PATH/config.py').model.backbone)
model.init_weights()
model.eval()
features = model(images)[-1].mean((2, 3))
"""


def write_mmdet(exported: Exported, folder: Path) -> tuple[Loading, ...]:
    """Write ``backbone.pth``, without any prefix, and ``config.py`` with the backbone, to be inherited by a detector's.

    Raises:
        UserError: if the backbone is neither a plain ResNet nor a vision transformer.
    """
    vit = vit_shape(exported, 'mmdet')
    resnet = None if vit else resnet_shape(exported, 'mmdet', 'mmpretrain or onnx')
    channels = exported.preprocessing.channels
    if vit:
        backbone: dict[str, Any] = dict(
            type='mixcl.DetectionViT',
            arch=dict(
                embed_dims=vit.width,
                num_layers=vit.depth,
                num_heads=vit.heads,
                feedforward_channels=vit.hidden,
            ),
            global_blocks=list(range(max(1, vit.depth // 4) - 1, vit.depth, max(1, vit.depth // 4))),
            img_size=1024 // vit.patch * vit.patch,
            pretrained_img_size=vit.size,
            patch_size=vit.patch,
            window_size=vit.size // vit.patch,
            qkv_bias=vit.qkv_bias,
            norm_cfg=dict(type='LN', eps=vit.eps),
        )
    elif resnet and not resnet.small_stem:
        backbone = dict(
            type='mmdet.ResNet',
            depth=resnet.depth,
            num_stages=4,
            out_indices=(0, 1, 2, 3),
            frozen_stages=1,
            norm_cfg=dict(type='BN', requires_grad=True),
            norm_eval=True,
            style='pytorch',
        )
    else:
        reason = 'detectors take vision transformers, and ResNets with the stem for large images'
        raise exported.refusal('mmdet', reason, 'mmpretrain or onnx')
    if channels != 3:
        backbone['in_channels'] = channels
    checkpoint = '{{ fileDirname }}/backbone.pth'  # mmengine fills in the folder of the config
    backbone['init_cfg'] = dict(type='Pretrained', checkpoint=checkpoint)
    write_config(folder, dict(backbone=backbone, data_preprocessor=_statistics(exported)))
    write_torch(folder / 'backbone.pth', exported.backbone.state_dict())
    if resnet:
        return (Loading(('mmdet',), LOAD.format(imports='import mmdet.models')),)
    return (Loading(('mmdet',), LOAD.format(imports='import mixcl.detection'), without_class_token(exported)),)


def _statistics(exported: Exported) -> dict[str, Any]:
    given = preprocessor(exported.preprocessing)
    return dict(mean=given['mean'], std=given['std'], bgr_to_rgb=given['to_rgb'])


def without_class_token(exported: Exported) -> Callable[[Tensor], Tensor]:
    """What a detector's transformer gives: the patches of the last block, which no class token and no norm has met."""
    vit = exported.backbone

    def features(images: Tensor) -> Tensor:
        x = vit.patch_embed(images)[0] + vit.pos_embed[:, 1:]
        for layer in vit.layers:
            x = layer(x)
        return x.mean(1)

    return features
