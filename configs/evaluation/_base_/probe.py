# A linear classifier on a frozen backbone.
_base_ = './classifier.py'

model = dict(
    backbone=dict(type='FrozenFeatures', backbone=dict(), feature=dict(type='Output')),
    neck=None,
)
