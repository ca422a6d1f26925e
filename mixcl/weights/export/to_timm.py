"""timm, and transformers' wrapper of it."""

from pathlib import Path
from typing import Any

from torch import Tensor

from mixcl.backbones import TimmBackbone
from mixcl.weights.export.architecture import ViTShape, resnet_shape, vit_shape
from mixcl.weights.export.base import Exported, Loading, renamed, write_json, write_safetensors

TIMM = """
import timm
model = timm.create_model('local-dir:PATH', pretrained=True)
features = model.eval()(images)
"""
TRANSFORMERS = """
from transformers import AutoModel
model = AutoModel.from_pretrained('PATH')
features = model(images).pooler_output
"""

WIDTHS = {192: 'tiny', 384: 'small', 768: 'base', 1024: 'large'}
CLIP = dict(pre_norm=False)
"""Makes a plain vision transformer of timm's entries for CLIP, the only ones whose norms have an epsilon of 1e-5."""

NOTED = ('first_conv', 'classifier', 'fixed_input_size', 'pool_size')
"""What timm knows of an architecture by its name, and is stored with the weights."""


def write_timm(exported: Exported, folder: Path) -> tuple[Loading, ...]:
    """Write ``config.json``, with all arguments of the architecture, and ``model.safetensors``.

    Raises:
        UserError: if timm has no such architecture.
    """
    name, arguments, layers, state = _entry(exported)
    given = exported.preprocessing
    if given.channels != 3:
        arguments['in_chans'] = given.channels
    # What timm's transforms are made of.
    pretrained = layers | dict(
        input_size=[given.channels, given.size, given.size],
        interpolation=given.interpolation,
        crop_pct=given.size / given.resize,
        crop_mode='center',
        mean=given.mean,
        std=given.std,
        num_classes=0,
    )
    content = dict(architecture=name, num_classes=0, model_args=arguments, pretrained_cfg=pretrained)
    write_json(folder / 'config.json', content)
    write_safetensors(folder, state)
    return Loading(('timm',), TIMM), Loading(('transformers', 'timm'), TRANSFORMERS)


def _entry(exported: Exported) -> tuple[str, dict[str, Any], dict[str, Any], dict[str, Tensor]]:
    """The name of timm's architecture, its arguments, what timm notes of it, and the weights by its names."""
    if isinstance(exported.backbone, TimmBackbone):
        model: Any = exported.backbone.plain_model()
        known = {key: model.pretrained_cfg[key] for key in NOTED if key in model.pretrained_cfg}
        name, arguments = exported.config['name'].partition('.')[0], dict(exported.config.get('arguments') or {})
        return name, arguments, known, model.state_dict()
    vit = vit_shape(exported, 'timm')
    if vit:
        notes = dict(first_conv='patch_embed.proj', classifier='head', fixed_input_size=True)
        return *_vit_entry(exported, vit), notes, renamed(exported, 'timm')
    resnet = resnet_shape(exported, 'timm', 'torchvision, mmpretrain or onnx')
    if resnet is None:
        raise exported.refusal('timm', 'it is no vision transformer, ResNet or model of timm')
    if resnet.small_stem:
        reason = 'timm has no ResNet with the stem for small images (3x3, no stride, no pooling)'
        raise exported.refusal('timm', reason, 'torchvision, mmpretrain or onnx')
    notes = dict(first_conv='conv1', classifier='fc')
    return f'resnet{resnet.depth}', {}, notes, renamed(exported, 'timm')


def _vit_entry(exported: Exported, vit: ViTShape) -> tuple[str, dict[str, Any]]:
    arguments: dict[str, Any] = dict(
        img_size=vit.size,
        patch_size=vit.patch,
        embed_dim=vit.width,
        depth=vit.depth,
        num_heads=vit.heads,
        mlp_ratio=vit.hidden / vit.width,
        qkv_bias=vit.qkv_bias,
    )
    if vit.eps == 1e-5:
        return 'vit_base_patch16_clip_224', arguments | CLIP
    if vit.eps == 1e-6:
        return f'vit_{WIDTHS.get(vit.width, "base")}_patch16_224', arguments
    reason = f'its layer norms have eps={vit.eps}, where timm has only entries with 1e-6 and 1e-5'
    raise exported.refusal('timm', reason, 'huggingface, mmpretrain or onnx')
