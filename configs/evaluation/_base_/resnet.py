# A ResNet as a classifier; batch norm is synchronised over all processes.
_base_ = './classifier.py'

views = 'bilinear'
model = dict(
    type='mmpretrain.ImageClassifier',
    backbone=dict(norm_cfg=dict(type='mixcl.SyncBatchNorm')),
    neck=dict(type='PooledOutput'),
    head=dict(
        type='mmpretrain.LinearClsHead',
        num_classes=1000,
        in_channels=1,
        loss=dict(type='mmpretrain.CrossEntropyLoss'),
    ),
)
