# MoCo v2, ResNet-50 on TinyImageNet: batch 128, 200 epochs, learning rate .015 (the host of MixCo).
_base_ = './r18_tinyimagenet.py'

model = dict(backbone=dict(depth=50), neck=dict(hidden_channels=2048))
schedule = dict(epochs=200)
