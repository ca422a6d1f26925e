# MoCo v2, SimCLR and MixCo, ResNet-18 on TinyImageNet: linear probe (MixCo, Table 1: 35.79, 35.30, 42.65, 36.44).
_base_ = './r50_tinyimagenet.py'

model = dict(backbone=dict(backbone=dict(depth=18)), head=dict(in_channels=512))
