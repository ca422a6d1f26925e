# MoCo v3, ResNet-101 on CIFAR-10: batch 256, 200 epochs; the SGD rate of i-mix (SDMP gives no recipe).
_base_ = './r50_cifar10.py'

model = dict(backbone=dict(depth=101))
