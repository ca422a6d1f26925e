"""Masked image modelling leaves plain vision transformers, whose features are averaged over patches."""

from pathlib import Path

import masked
import pytest
import torch
from engine.tiny_runs import run_config, trained
from mmengine.config import Config
from torch import nn

from mixcl.recipes.subject import read_subject
from mixcl.weights import backbone_config


def test_settings_of_masks_are_left_out() -> None:
    for name in ('mae', 'simmim', 'maskfeat'):
        backbone = Config(dict(model=dict(masked.ALGORITHMS[name]))).model.backbone
        backbone.update(dict(mask_ratio=0.5) if name == 'mae' else {})
        plain = backbone_config(Config(dict(model=dict(backbone=backbone))))
        assert plain['type'] == ('DINOViT' if name == 'simmim' else 'ContrastiveViT')
        assert plain['out_type'] == 'featmap' and not {'mask_ratio', 'mask_token'} & plain.keys()
    swin = dict(type='mmpretrain.SimMIMSwinTransformer', arch='base')
    plain = backbone_config(Config(dict(model=dict(backbone=swin))))
    assert plain == dict(type='mmpretrain.SwinTransformer', arch='base')


@pytest.mark.parametrize('name', ['mae', 'simmim'])
def test_the_encoder_of_a_checkpoint_gives_the_features_of_the_run(tmp_path: Path, name: str) -> None:
    model = trained(run_config(tmp_path, **masked.changes(name), train_cfg__max_epochs=1)).model.eval()
    encoder = read_subject(str(tmp_path / 'epoch_1.pth')).encoder()
    images = torch.randn(3, 3, 8, 8)
    with torch.no_grad():
        features = encoder(images)
        torch.testing.assert_close(features, model.extract_features(images))
        tokens = nn.functional.conv2d(images, model.backbone.patch_embed.projection.weight, stride=2)
        tokens = tokens + model.backbone.patch_embed.projection.bias[:, None, None]
        x = torch.cat([model.backbone.cls_token.expand(3, -1, -1), tokens.flatten(2).mT], dim=1)
        x = x + model.backbone.pos_embed
        for layer in model.backbone.layers:
            x = layer(x)
        torch.testing.assert_close(features, model.backbone.ln1(x)[:, 1:].mean(dim=1))
