"""Layer-wise learning rates against the table of the recipes, and against timm itself."""

import hosts
import pytest
import timm
from backbones.small_models import MODELS_AND_WIDTHS
from mmengine.registry import DefaultScope
from timm.models import VisionTransformer
from timm.optim import param_groups_layer_decay, param_groups_weight_decay

from mixcl.engine import FewGroupsConstructor, LayerDecayConstructor, TimmLayerDecayConstructor
from mixcl.errors import UserError
from mixcl.registry import MODELS

PARAMWISE = dict(
    layer_decay_rate=0.75,
    flat_decay_mult=0.0,
    custom_keys={'.cls_token': dict(decay_mult=0.0), '.pos_embed': dict(decay_mult=0.0)},
)
WIDTH = 16
ARCH = dict(embed_dims=WIDTH, num_layers=12, num_heads=2, feedforward_channels=2 * WIDTH)
VIT = dict(type='ContrastiveViT', arch=ARCH, img_size=8, patch_size=4)
LOSS = dict(type='mmpretrain.CrossEntropyLoss')
HEAD = dict(type='mmpretrain.LinearClsHead', num_classes=3, in_channels=WIDTH, loss=LOSS)
DATA = dict(type='mmpretrain.ClsDataPreprocessor')
NAMES = [
    ('head', 'head.fc'), ('norm.', 'ln1.'), ('norm1', 'ln1'), ('norm2', 'ln2'), ('blocks', 'layers'),
    ('mlp.fc1', 'ffn.layers.0.0'), ('mlp.fc2', 'ffn.layers.1'), ('patch_embed.proj.', 'patch_embed.projection.'),
]  # fmt: skip
"""Parts of parameter names in timm and in mmpretrain."""


def settings(constructor: type, backbone: dict) -> dict[str, dict]:
    """Return the optimizer group of every trained parameter of a classifier, by name."""
    cfg = dict(type='OptimWrapper', optimizer=dict(type='AdamW', lr=2e-3, weight_decay=0.05))
    with DefaultScope.overwrite_default_scope('mixcl'):
        parts = dict(backbone=backbone, head=HEAD, data_preprocessor=DATA)
        model = MODELS.build(dict(type='mmpretrain.ImageClassifier', **parts))
        groups = constructor(cfg, PARAMWISE)(model).optimizer.param_groups
    of = {parameter: group for group in groups for parameter in group['params']}
    return {name: of[parameter] for name, parameter in model.named_parameters() if parameter in of}


def test_scales_of_beit_and_mae() -> None:
    """Stem .75^13 = .023757, block b .75^(12 - b), final norm and head 1."""
    found = settings(LayerDecayConstructor, VIT)
    for name, group in found.items():
        kind, *rest = name.removeprefix('backbone.').split('.')
        scale = dict(layers=0.75 ** (12 - int(rest[0])) if kind == 'layers' else None, ln1=1.0, head=1)
        assert group['lr_scale'] == pytest.approx(scale.get(kind, 0.023757), abs=5e-7), name
        assert group['lr'] == pytest.approx(2e-3 * group['lr_scale'])
    # Stem, 12 blocks and head, each with and without weight decay.
    assert len({id(group) for group in found.values()}) == 28


def test_scales_and_weight_decay_are_those_of_timm() -> None:
    size = dict(embed_dim=WIDTH, depth=12, num_heads=2, mlp_ratio=2)
    theirs = VisionTransformer(img_size=8, patch_size=4, num_classes=3, **size)
    groups = param_groups_layer_decay(theirs, 0.05, theirs.no_weight_decay(), layer_decay=0.75)
    of = {parameter: group for group in groups for parameter in group['params']}
    expected = {}
    for name, parameter in theirs.named_parameters():
        for timms, mmpretrains in NAMES:
            name = name.replace(timms, mmpretrains)
        name = name if name.startswith('head') else f'backbone.{name}'
        expected[name] = (of[parameter]['lr_scale'], of[parameter]['weight_decay'])
    found = settings(TimmLayerDecayConstructor, VIT)
    assert {name: (group['lr_scale'], group['weight_decay']) for name, group in found.items()} == expected


@pytest.mark.parametrize('constructor', [FewGroupsConstructor, LayerDecayConstructor])
@pytest.mark.parametrize(
    ('name', 'arguments'),
    [
        ('vit_tiny_patch16_224', dict(img_size=32, depth=2)),
        ('swin_tiny_patch4_window7_224', dict(embed_dim=12, depths=(1, 1), num_heads=(1, 2))),  # tables of positions
    ],
)
def test_weight_decay_spares_what_timm_spares(constructor: type, name: str, arguments: dict) -> None:
    found = settings(constructor, dict(type='TimmBackbone', name=name, arguments=arguments))
    theirs = timm.create_model(name, num_classes=0, **arguments)
    groups = param_groups_weight_decay(theirs, 0.05, no_weight_decay_list=theirs.no_weight_decay())
    of = {parameter: group['weight_decay'] for group in groups for parameter in group['params']}
    expected = {f'backbone.model.{name}': of[parameter] for name, parameter in theirs.named_parameters()}
    assert {name: found[name]['weight_decay'] for name in expected} == expected


def test_a_backbone_without_depths() -> None:
    with pytest.raises(UserError, match='this ResNet does not; take a recipe without layer decay'):
        settings(LayerDecayConstructor, dict(type='mmpretrain.ResNet', depth=18))


@pytest.mark.parametrize('name', ['vit', 'dinov3'])
def test_a_learner_on_a_backbone_by_name(name: str) -> None:
    """Two blocks: stem .75^3, blocks .75^2 and .75, final norm with the last block as in timm, projector 1."""
    backbone, width = MODELS_AND_WIDTHS[name]
    neck = hosts.moco_v3()['neck'] | dict(in_channels=width)
    model = hosts.build(hosts.moco_v3(), backbone=backbone, neck=neck)
    cfg = dict(type='OptimWrapper', optimizer=dict(type='AdamW', lr=2e-3, weight_decay=0.05))
    groups = LayerDecayConstructor(cfg, PARAMWISE)(model).optimizer.param_groups
    scales = {parameter: group['lr'] / 2e-3 for group in groups for parameter in group['params']}
    for key, parameter in model.named_parameters():
        if key.startswith('target.'):
            assert parameter not in scales
            continue
        *_, block = key.removeprefix('backbone.model.blocks.').split('.', 1)[:1]
        scale = {'0': 0.75**2, '1': 0.75}.get(block, 1.0 if key.startswith(('neck.', 'predictor.')) else 0.75**3)
        if '.norm.' in key or '.fc_norm.' in key:
            scale = 1.0 if '.fc_norm.' in key else 0.75
        assert scales[parameter] == pytest.approx(scale), key
