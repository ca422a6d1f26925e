# DINO and SDMP on DINO, ViT-S/16 on ImageNet-100: linear probe (SDMP, Table 11: 82.0 and 83.2).
_base_ = [
    '../../_base_/evaluation/datasets/in100_dino.py',
    '../../_base_/evaluation/models/probe_vit-s16.py',
    '../../_base_/evaluation/recipes/linear_dino.py',
    '../../_base_/evaluation/runtime.py',
]
model = dict(
    backbone=dict(
        backbone=dict(arch=dict(embed_dims=384, num_layers=12, num_heads=6, feedforward_channels=1536)),
        feature=dict(_delete_=True, type='LastClassTokens', blocks=4),
    ),
    head=dict(num_classes=100, in_channels=1536),
)
