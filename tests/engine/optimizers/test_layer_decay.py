"""Layer-wise learning rates against the table of the recipes, and against timm itself."""

import pytest
from mmengine.registry import DefaultScope
from timm.models import VisionTransformer
from timm.optim import param_groups_layer_decay
from torch import nn

from mixcl.engine import LayerDecayConstructor, TimmLayerDecayConstructor
from mixcl.errors import UserError
from mixcl.registry import MODELS

PARAMWISE = dict(
    layer_decay_rate=0.75,
    flat_decay_mult=0.0,
    custom_keys={'.cls_token': dict(decay_mult=0.0), '.pos_embed': dict(decay_mult=0.0)},
)
WIDTH = 16


def classifier(**backbone) -> nn.Module:
    arch = dict(embed_dims=WIDTH, num_layers=12, num_heads=2, feedforward_channels=2 * WIDTH)
    head = dict(
        type='mmpretrain.LinearClsHead',
        num_classes=3,
        in_channels=WIDTH,
        loss=dict(type='mmpretrain.CrossEntropyLoss'),
    )
    with DefaultScope.overwrite_default_scope('mixcl'):
        return MODELS.build(
            dict(
                type='mmpretrain.ImageClassifier',
                backbone={**dict(type='ContrastiveViT', arch=arch, img_size=8, patch_size=4), **backbone},
                head=head,
                data_preprocessor=dict(type='mmpretrain.ClsDataPreprocessor'),
            )
        )


def settings(constructor: type, model: nn.Module) -> dict[str, dict]:
    """Of every parameter, the group that it is in."""
    cfg = dict(type='OptimWrapper', optimizer=dict(type='AdamW', lr=2e-3, weight_decay=0.05))
    with DefaultScope.overwrite_default_scope('mixcl'):
        groups = constructor(cfg, PARAMWISE)(model).optimizer.param_groups
    of = {parameter: group for group in groups for parameter in group['params']}
    return {name: of[parameter] for name, parameter in model.named_parameters() if parameter in of}


@pytest.mark.parametrize(
    ('constructor', 'final_norm'), [(LayerDecayConstructor, 1.0), (TimmLayerDecayConstructor, 0.75)]
)
def test_scales_of_the_two_conventions(constructor: type, final_norm: float) -> None:
    """Stem .75^13 = .023757, block b .75^(12 - b), head 1; the final norm differs."""
    found = settings(constructor, classifier())
    for stem in ('cls_token', 'pos_embed', 'patch_embed.projection.weight', 'patch_embed.projection.bias'):
        assert found[f'backbone.{stem}']['lr_scale'] == pytest.approx(0.023757, abs=5e-7)
    for block in range(12):
        for name in ('ln1.weight', 'attn.qkv.bias', 'ffn.layers.1.weight'):
            assert found[f'backbone.layers.{block}.{name}']['lr_scale'] == pytest.approx(0.75 ** (12 - block))
    assert found['backbone.ln1.weight']['lr_scale'] == found['backbone.ln1.bias']['lr_scale'] == final_norm
    assert found['head.fc.weight']['lr_scale'] == found['head.fc.bias']['lr_scale'] == 1
    for group in found.values():
        assert group['lr'] == pytest.approx(2e-3 * group['lr_scale'])


def test_equal_settings_share_a_group() -> None:
    for constructor in (LayerDecayConstructor, TimmLayerDecayConstructor):
        groups = {id(group) for group in settings(constructor, classifier()).values()}
        assert len(groups) == 28  # stem, 12 blocks and head, each with and without weight decay


def name_here(name: str) -> str:
    """timm's name of a parameter as mmpretrain's classifier calls it."""
    if name.startswith('head'):
        return name.replace('head', 'head.fc')
    if name.startswith('norm'):
        return name.replace('norm', 'backbone.ln1')
    for theirs, ours in [
        ('blocks', 'layers'), ('norm1', 'ln1'), ('norm2', 'ln2'), ('mlp.fc1', 'ffn.layers.0.0'),
        ('mlp.fc2', 'ffn.layers.1'), ('patch_embed.proj.', 'patch_embed.projection.'),
    ]:  # fmt: skip
        name = name.replace(theirs, ours)
    return f'backbone.{name}'


def test_scales_and_weight_decay_are_those_of_timm() -> None:
    theirs = VisionTransformer(
        img_size=8, patch_size=4, embed_dim=WIDTH, depth=12, num_heads=2, mlp_ratio=2, num_classes=3
    )
    groups = param_groups_layer_decay(theirs, 0.05, theirs.no_weight_decay(), layer_decay=0.75)
    names = {parameter: name for name, parameter in theirs.named_parameters()}
    expected = {
        name_here(names[parameter]): (group['lr_scale'], group['weight_decay'])
        for group in groups
        for parameter in group['params']
    }
    found = settings(TimmLayerDecayConstructor, classifier())
    assert {name: (group['lr_scale'], group['weight_decay']) for name, group in found.items()} == expected


def test_a_backbone_without_depths() -> None:
    model = classifier()
    with DefaultScope.overwrite_default_scope('mixcl'):
        model.backbone = MODELS.build(dict(type='mmpretrain.ResNet', depth=18))
    with pytest.raises(UserError, match='this ResNet does not; take a recipe without layer decay'):
        settings(LayerDecayConstructor, model)
    with pytest.raises(UserError, match="'TimmLayerDecayConstructor' needs a backbone"):
        settings(TimmLayerDecayConstructor, nn.Linear(2, 2))
