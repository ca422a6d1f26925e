"""Backbones of mmdet's detectors."""

from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from mixcl.weights.export.architecture import ViTShape, plain_resnet, vit_shape
from mixcl.weights.export.base import Exported, Loading
from mixcl.weights.export.to_mmpretrain import statistics, write_config

LOAD = """
import {package}
from mmdet.registry import MODELS
from mmengine.config import Config
model = MODELS.build(Config.fromfile('PATH/config.py').exported.backbone)
model.init_weights()
model.eval()
features = model(images)[-1].mean((2, 3))
"""
# mmengine fills in the folder of the config.
WEIGHTS = dict(type='Pretrained', checkpoint='{{ fileDirname }}/backbone.pth')


def write_mmdet(exported: Exported, folder: Path) -> tuple[Loading, ...]:
    """Write ``backbone.pth``, without any prefix, and ``config.py`` with the backbone, for configs of detectors."""
    channels, package, expected = exported.preprocessing.channels, 'mmdet.models', None
    if vit := vit_shape(exported, 'mmdet'):
        backbone, package, expected = _vit_config(vit), 'mixcl.detection', _without_class_token(exported.backbone)
    elif resnet := plain_resnet(exported, 'mmdet'):
        backbone = dict(type='mmdet.ResNet', depth=resnet.depth, style='pytorch')
    else:
        raise exported.refusal('mmdet', 'it is no vision transformer or ResNet of mmpretrain')
    images = dict(statistics(exported), bgr_to_rgb=channels == 3)
    backbone |= dict(in_channels=channels, init_cfg=WEIGHTS)
    write_config(folder, 'exported', backbone=backbone, data_preprocessor=images)
    torch.save(exported.backbone.state_dict(), folder / 'backbone.pth')
    return (Loading(('mmdet',), LOAD.format(package=package), expected),)


def _vit_config(vit: ViTShape) -> dict[str, Any]:
    step = max(1, vit.depth // 4)
    return dict(
        type='mixcl.DetectionViT',
        arch=dict(embed_dims=vit.width, num_layers=vit.depth, num_heads=vit.heads, feedforward_channels=vit.hidden),
        global_blocks=list(range(step - 1, vit.depth, step)),
        img_size=1024 // vit.patch * vit.patch,
        pretrained_img_size=vit.size,
        patch_size=vit.patch,
        window_size=vit.size // vit.patch,
        qkv_bias=vit.qkv_bias,
        norm_cfg=dict(type='LN', eps=vit.eps),
    )


def _without_class_token(vit: Any) -> Any:
    """What a detector's transformer gives: the last block's patches, without class token and final norm."""

    def features(images: Tensor) -> Tensor:
        x = vit.patch_embed(images)[0] + vit.pos_embed[:, 1:]
        for layer in vit.layers:
            x = layer(x)
        return x.mean(1)

    return features
