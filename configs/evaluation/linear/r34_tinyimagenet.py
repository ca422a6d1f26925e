# MoCo v2 and MixCo, ResNet-34 on TinyImageNet: linear probe (MixCo, Table 1: 42.15 and 45.54).
_base_ = './r50_tinyimagenet.py'

model = dict(backbone=dict(backbone=dict(depth=34)), head=dict(in_channels=512))
