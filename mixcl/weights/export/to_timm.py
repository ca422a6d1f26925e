"""Export to timm, and to transformers' wrapper of it."""

from pathlib import Path
from typing import Any

from torch import Tensor

from mixcl.backbones import TimmBackbone
from mixcl.weights.export.base import Exported, Loading, plain_resnet, vit_shape, write_json, write_safetensors

TIMM = """
import timm
model = timm.create_model('local-dir:PATH', pretrained=True)
features = model.eval()(images)
{tokens}
"""
TRANSFORMERS = """
from transformers import AutoModel
model = AutoModel.from_pretrained('PATH')
features = model(images).pooler_output
{tokens}
"""

HIDDEN = '(images).last_hidden_state'

WIDTHS = {192: 'tiny', 384: 'small', 1024: 'large'}
NOTED = ('first_conv', 'classifier', 'fixed_input_size', 'pool_size')
"""Keys of what timm knows about an architecture by its name; stored with the weights."""


def write_timm(exported: Exported, folder: Path) -> tuple[Loading, ...]:
    """Write ``config.json``, with all arguments of the architecture, and ``model.safetensors``."""
    name, arguments, notes, state = _entry(exported)
    preprocessing = exported.preprocessing
    if preprocessing.channels != 3:
        arguments['in_chans'] = preprocessing.channels
    transforms = dict(
        input_size=[preprocessing.channels, *preprocessing.size],
        interpolation=preprocessing.interpolation,
        crop_pct=min(preprocessing.size) / preprocessing.resize,
        crop_mode='center',
        mean=preprocessing.mean,
        std=preprocessing.std,
    )
    content = dict(architecture=name, num_classes=0, model_args=arguments)
    write_json(folder / 'config.json', content | dict(pretrained_cfg=dict(notes, **transforms, num_classes=0)))
    write_safetensors(folder, state)
    tokens = [exported.tokens_of(f'model{call}') for call in ('.forward_features(images)', HIDDEN)]
    return (
        Loading(('timm',), TIMM.format(tokens=tokens[0])),
        Loading(('transformers', 'timm'), TRANSFORMERS.format(tokens=tokens[1])),
    )


def _entry(exported: Exported) -> tuple[str, dict[str, Any], dict[str, Any], dict[str, Tensor]]:
    """Return timm's name of the architecture, its arguments, timm's notes on it, and the weights by timm's names."""
    if isinstance(exported.backbone, TimmBackbone):
        model, given = exported.backbone.plain_model(), dict(exported.backbone.arguments)
        known: Any = model.pretrained_cfg
        notes = {key: known[key] for key in NOTED if key in known}
        return exported.config['name'].partition('.')[0], given, notes, model.state_dict()
    if resnet := plain_resnet(exported, 'timm'):
        return f'resnet{resnet.depth}', {}, dict(first_conv='conv1', classifier='fc'), exported.renamed('timm')
    vit = vit_shape(exported, 'timm')
    if vit is None:
        raise exported.refusal('timm', 'it is no vision transformer, ResNet or model of timm')
    arguments: dict[str, Any] = dict(
        img_size=vit.size,
        patch_size=vit.patch,
        embed_dim=vit.width,
        depth=vit.depth,
        num_heads=vit.heads,
        mlp_ratio=vit.hidden / vit.width,
        qkv_bias=vit.qkv_bias,
    )
    if vit.averages:
        arguments.update(global_pool='avg', fc_norm=False)
    name = f'vit_{WIDTHS.get(vit.width, "base")}_patch16_224'
    if vit.eps == 1e-5:  # only the entries for CLIP have it; they have one more norm
        name, arguments = 'vit_base_patch16_clip_224', dict(arguments, pre_norm=False)
    elif vit.eps != 1e-6:
        reason = f'its layer norms have eps={vit.eps}, where timm has entries with 1e-6 and 1e-5 only'
        raise exported.refusal('timm', reason, 'huggingface')
    notes = dict(first_conv='patch_embed.proj', classifier='head', fixed_input_size=True)
    return name, arguments, notes, exported.renamed('timm')
