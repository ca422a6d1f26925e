"""ViTModel and ResNetModel of Hugging Face's transformers."""

from pathlib import Path
from typing import Any

import torch

from mixcl.weights.export.architecture import ResNetShape, ViTShape, resnet_shape, vit_shape
from mixcl.weights.export.base import Exported, Loading, Preprocessing, renamed, write_json, write_safetensors

LOAD = """
from transformers import AutoModel
model = AutoModel.from_pretrained('PATH')
features = model(images).pooler_output.flatten(1)
"""

RESAMPLE = dict(bilinear=2, bicubic=3)
"""Pillow's numbers."""


def write_huggingface(exported: Exported, folder: Path) -> tuple[Loading, ...]:
    """Write ``config.json``, ``model.safetensors`` and ``preprocessor_config.json``.

    Raises:
        UserError: if transformers has no such model.
    """
    vit = vit_shape(exported, 'huggingface')
    resnet = None if vit else resnet_shape(exported, 'huggingface')
    if vit:
        config, state = _vit_config(vit), renamed(exported, 'huggingface')
        # The output of its pooler becomes the class token, which it is not without weights of a pooler.
        state |= {'pooler.dense.weight': torch.eye(vit.width), 'pooler.dense.bias': torch.zeros(vit.width)}
    elif resnet:
        if resnet.small_stem:
            reason = 'ResNetModel has no stem for small images (3x3, no stride, no pooling)'
            raise exported.refusal('huggingface', reason, 'torchvision, mmpretrain or onnx')
        config, state = _resnet_config(resnet), renamed(exported, 'huggingface')
    else:
        raise exported.refusal('huggingface', 'it is no vision transformer or ResNet', 'timm, mmpretrain or onnx')
    write_json(folder / 'config.json', dict(config, num_channels=exported.preprocessing.channels, dtype='float32'))
    write_json(folder / 'preprocessor_config.json', _processor(exported.preprocessing))
    write_safetensors(folder, state)
    return (Loading(('transformers',), LOAD),)


def _vit_config(vit: ViTShape) -> dict[str, Any]:
    return dict(
        architectures=['ViTModel'],
        model_type='vit',
        hidden_size=vit.width,
        num_hidden_layers=vit.depth,
        num_attention_heads=vit.heads,
        intermediate_size=vit.hidden,
        hidden_act='gelu',
        layer_norm_eps=vit.eps,
        qkv_bias=vit.qkv_bias,
        image_size=vit.size,
        patch_size=vit.patch,
        hidden_dropout_prob=0.0,
        attention_probs_dropout_prob=0.0,
        pooler_output_size=vit.width,
        pooler_act='linear',
    )


def _resnet_config(resnet: ResNetShape) -> dict[str, Any]:
    return dict(
        architectures=['ResNetModel'],
        model_type='resnet',
        embedding_size=64,
        hidden_sizes=list(resnet.channels),
        depths=list(resnet.blocks),
        layer_type='bottleneck' if resnet.bottleneck else 'basic',
        hidden_act='relu',
        downsample_in_first_stage=False,
        downsample_in_bottleneck=False,
    )


def _processor(given: Preprocessing) -> dict[str, Any]:
    """The one that resizes the short side and cuts out the middle."""
    return dict(
        image_processor_type='BitImageProcessor',
        do_convert_rgb=given.channels == 3,
        do_resize=True,
        size=dict(shortest_edge=given.resize),
        resample=RESAMPLE[given.interpolation],
        do_center_crop=True,
        crop_size=dict(height=given.size, width=given.size),
        do_rescale=True,
        rescale_factor=1 / 255,
        do_normalize=True,
        image_mean=given.mean,
        image_std=given.std,
    )
