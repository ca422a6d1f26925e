# ResNet-18 on TinyImageNet from scratch, 100 epochs (MixCo, Table 1: 63.96).
_base_ = './r50_tinyimagenet.py'

model = dict(backbone=dict(depth=18), head=dict(in_channels=512))
train_cfg = dict(max_epochs=100)
