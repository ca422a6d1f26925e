# MoCo v2 on ResNet-18, the plain host of MixCo: statistics of the keys in two groups, as on two GPUs.
_base_ = './mocov2_r50.py'

model = dict(
    backbone=dict(depth=18),
    neck=dict(in_channels=512, hidden_channels=512),
    target=dict(groups=2),
)
