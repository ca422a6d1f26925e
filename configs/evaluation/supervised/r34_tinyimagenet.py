# ResNet-34 on TinyImageNet from scratch, 200 epochs (MixCo, Table 1: 64.99).
_base_ = './r50_tinyimagenet.py'

model = dict(backbone=dict(depth=34), head=dict(in_channels=512))
