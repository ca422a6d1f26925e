# MoCo v3, i-mix and SDMP, ResNet-101 on CIFAR-100: linear probe (SDMP, Table 5).
_base_ = './r50_cifar100_mocov3.py'

model = dict(backbone=dict(backbone=dict(depth=101)))
