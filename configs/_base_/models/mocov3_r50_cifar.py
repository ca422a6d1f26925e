# MoCo v3 on a ResNet-50 for images of 32 pixels: 3x3 stem, no pooling after it.
_base_ = './mocov3_r50.py'

model = dict(backbone=dict(type='mmpretrain.ResNet_CIFAR'))
