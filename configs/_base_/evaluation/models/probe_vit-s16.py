# A linear classifier on the class token of a frozen ViT-S/16.
model = dict(
    type='mmpretrain.ImageClassifier',
    backbone=dict(
        type='FrozenFeatures',
        backbone=dict(
            type='ContrastiveViT',
            arch=dict(embed_dims=384, num_layers=12, num_heads=12, feedforward_channels=1536),
            img_size=224,
            patch_size=16,
        ),
        feature=dict(type='Output'),
    ),
    head=dict(
        type='mmpretrain.LinearClsHead',
        num_classes=1000,
        in_channels=384,
        loss=dict(type='mmpretrain.CrossEntropyLoss'),
    ),
)
