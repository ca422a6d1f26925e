# ResNet-50 as a classifier.
model = dict(
    type='mmpretrain.ImageClassifier',
    backbone=dict(type='mmpretrain.ResNet', depth=50, norm_cfg=dict(type='mixcl.SyncBatchNorm')),
    neck=dict(type='PooledOutput'),
    head=dict(
        type='mmpretrain.LinearClsHead',
        num_classes=1000,
        in_channels=2048,
        loss=dict(type='mmpretrain.CrossEntropyLoss'),
    ),
)
