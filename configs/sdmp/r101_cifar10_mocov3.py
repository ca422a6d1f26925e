# SDMP on MoCo v3, ResNet-101 on CIFAR-10, 200 epochs (2000: schedule.epochs=2000).
_base_ = './r50_cifar10_mocov3.py'

model = dict(backbone=dict(depth=101))
