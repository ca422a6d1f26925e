"""Learning rates of ViTDet's recipe, by hand."""

import pytest
from torch import nn

from mixcl.registry import MODELS, OPTIM_WRAPPER_CONSTRUCTORS


def optimizer_of(model):
    optimizer = dict(type='AdamW', lr=1e-4, betas=(0.9, 0.999), weight_decay=0.1)
    constructor = dict(
        type='mixcl.DetectorLayerDecayConstructor',
        optim_wrapper_cfg=dict(type='OptimWrapper', optimizer=optimizer),
        paramwise_cfg=dict(layer_decay_rate=0.7, norm_decay_mult=0.0, custom_keys={'pos_embed': dict(decay_mult=0.0)}),
    )
    return OPTIM_WRAPPER_CONSTRUCTORS.build(constructor)(model).optimizer


def test_rates_and_decays_of_vitdet_base():
    arch = dict(embed_dims=8, num_layers=12, num_heads=2, feedforward_channels=8)
    small = dict(img_size=32, pretrained_img_size=32)
    model = nn.Module()
    model.backbone = MODELS.build(dict(type='mixcl.DetectionViT', arch=arch, global_blocks=(11,), **small))
    model.neck = MODELS.build(dict(type='mixcl.SimpleFeaturePyramid', in_channels=8, out_channels=4))
    optimizer, names = optimizer_of(model), {id(parameter): name for name, parameter in model.named_parameters()}
    settings = {
        names[id(parameter)]: (group['lr'] / 1e-4, group['weight_decay'])
        for group in optimizer.param_groups
        for parameter in group['params']
    }
    assert settings.keys() == set(names.values())
    expected = {
        'backbone.patch_embed.projection.weight': (0.7**13, 0.1),
        'backbone.pos_embed': (0.7**13, 0.0),
        'backbone.layers.0.attn.qkv.weight': (0.7**12, 0.1),
        'backbone.layers.0.attn.rel_pos_h': (0.7**12, 0.1),
        'backbone.layers.11.ln1.weight': (0.7, 0.0),
        'backbone.layers.11.ffn.layers.1.bias': (0.7, 0.1),
        'neck.levels.0.0.0.weight': (1.0, 0.1),
        'neck.levels.0.0.1.weight': (1.0, 0.0),  # the norm between the deconvolutions
    }
    for name, values in expected.items():
        assert settings[name] == pytest.approx(values), name
    assert len(optimizer.param_groups) == 2 * 14  # with and without weight decay, for 14 depths
