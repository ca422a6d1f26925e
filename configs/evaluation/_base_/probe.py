# A linear classifier on a frozen backbone. The number of its features is found automatically.
_base_ = './classifier.py'

views = 'plain'
model = dict(
    type='mmpretrain.ImageClassifier',
    backbone=dict(type='FrozenFeatures', backbone=dict(), feature=dict(type='Output')),
    head=dict(
        type='mmpretrain.LinearClsHead',
        num_classes=1000,
        in_channels=1,
        loss=dict(type='mmpretrain.CrossEntropyLoss'),
    ),
)
