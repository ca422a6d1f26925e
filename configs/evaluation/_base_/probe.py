# A linear classifier on a frozen backbone. How many values the backbone gives is found out.
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
