"""Export to ViTModel and ResNetModel of Hugging Face's transformers, and to its wrapper of timm's models."""

from pathlib import Path
from typing import Any

import torch

from mixcl.backbones import TimmBackbone
from mixcl.weights.export.base import (
    Exported,
    Loading,
    Preprocessing,
    ViTShape,
    plain_resnet,
    vit_shape,
    write_json,
    write_safetensors,
)
from mixcl.weights.export.to_timm import write_timm

LOAD = """
from transformers import AutoModel
model = AutoModel.from_pretrained('PATH')
features = model(images).pooler_output.flatten(1)
{tokens}
"""

AVERAGE = """
from transformers import AutoModel
model = AutoModel.from_pretrained('PATH')
features = model(images).last_hidden_state[:, 1:].mean(dim=1)
{tokens}
"""


def write_huggingface(exported: Exported, folder: Path) -> tuple[Loading, ...]:
    """Write ``config.json``, ``model.safetensors`` and ``preprocessor_config.json``; timm's files for its models."""
    if isinstance(exported.backbone, TimmBackbone):
        return write_timm(exported, folder)[1:]
    preprocessing = exported.preprocessing
    if vit := vit_shape(exported, 'huggingface'):
        # Without weights the pooler is random; with these it gives the class token.
        identity = {'pooler.dense.weight': torch.eye(vit.width), 'pooler.dense.bias': torch.zeros(vit.width)}
        config, state = _vit_config(vit), exported.renamed('huggingface') | identity
    elif resnet := plain_resnet(exported, 'huggingface'):
        config, state = _resnet_config(resnet), exported.renamed('huggingface')
    else:
        raise exported.refusal('huggingface', 'it is no vision transformer or ResNet of mmpretrain, nor of timm')
    write_json(folder / 'config.json', dict(config, num_channels=preprocessing.channels, dtype='float32'))
    write_json(folder / 'preprocessor_config.json', _processor(preprocessing))
    write_safetensors(folder, state)
    code = AVERAGE if vit and vit.averages else LOAD
    return (Loading(('transformers',), code.format(tokens=exported.tokens_of('model(images).last_hidden_state'))),)


def _vit_config(vit: ViTShape) -> dict[str, Any]:
    return dict(
        architectures=['ViTModel'],
        model_type='vit',
        hidden_size=vit.width,
        num_hidden_layers=vit.depth,
        num_attention_heads=vit.heads,
        intermediate_size=vit.hidden,
        layer_norm_eps=vit.eps,
        qkv_bias=vit.qkv_bias,
        image_size=vit.size,
        patch_size=vit.patch,
        hidden_dropout_prob=0.0,
        attention_probs_dropout_prob=0.0,
        pooler_act='linear',
    )


def _resnet_config(resnet: Any) -> dict[str, Any]:
    stages = [getattr(resnet, name) for name in resnet.res_layers]
    return dict(
        architectures=['ResNetModel'],
        model_type='resnet',
        embedding_size=64,
        hidden_sizes=[stage[-1].out_channels for stage in stages],
        depths=[len(stage) for stage in stages],
        layer_type='basic' if resnet.depth < 50 else 'bottleneck',
    )


def _processor(preprocessing: Preprocessing) -> dict[str, Any]:
    return dict(
        image_processor_type='BitImageProcessor',  # which resizes the short side and cuts out the middle
        do_convert_rgb=preprocessing.channels == 3,
        size=dict(shortest_edge=preprocessing.resize),
        resample=dict(bilinear=2, bicubic=3)[preprocessing.interpolation],  # as Pillow numbers them
        crop_size=dict(height=preprocessing.size[0], width=preprocessing.size[1]),
        image_mean=preprocessing.mean,
        image_std=preprocessing.std,
    )
