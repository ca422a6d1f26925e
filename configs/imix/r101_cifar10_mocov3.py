# i-mix on MoCo v3, ResNet-101 on CIFAR-10.
_base_ = './r50_cifar10_mocov3.py'

model = dict(backbone=dict(depth=101))
