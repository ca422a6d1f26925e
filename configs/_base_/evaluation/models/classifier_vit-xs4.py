# The small ViT for images of 16 pixels as a classifier of plain images.
model = dict(
    type='mmpretrain.ImageClassifier',
    backbone=dict(
        type='ContrastiveViT',
        arch=dict(embed_dims=96, num_layers=4, num_heads=3, feedforward_channels=384),
        img_size=16,
        patch_size=4,
        fixed_position=False,
        frozen_patch_embed=False,
    ),
    neck=dict(type='PooledOutput'),
    head=dict(
        type='mmpretrain.LinearClsHead',
        num_classes=10,
        in_channels=96,
        loss=dict(type='mmpretrain.CrossEntropyLoss'),
        init_cfg=dict(type='TruncNormal', layer='Linear', std=0.02),
    ),
)
