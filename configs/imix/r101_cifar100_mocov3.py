# i-mix on MoCo v3, ResNet-101 on CIFAR-100.
_base_ = './r50_cifar10_mocov3.py'

model = dict(backbone=dict(depth=101))
data = 'cifar100'
