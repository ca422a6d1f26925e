# MoCo v2 on ResNet-50, the plain host of MixCo: statistics of the keys in two groups, as on two GPUs.
_base_ = './mocov2_r50.py'

model = dict(
    backbone=dict(depth=50),
    neck=dict(in_channels=2048, hidden_channels=2048),
    target=dict(groups=2),
)
