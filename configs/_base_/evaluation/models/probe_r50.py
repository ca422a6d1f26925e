# A linear classifier on the pooled output of a frozen ResNet-50.
model = dict(
    type='mmpretrain.ImageClassifier',
    backbone=dict(
        type='FrozenFeatures',
        backbone=dict(type='mmpretrain.ResNet', depth=50, norm_cfg=dict(type='BN')),
        feature=dict(type='Output'),
    ),
    head=dict(
        type='mmpretrain.LinearClsHead',
        num_classes=1000,
        in_channels=2048,
        loss=dict(type='mmpretrain.CrossEntropyLoss'),
    ),
)
