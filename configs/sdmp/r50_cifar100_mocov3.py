# SDMP on MoCo v3, ResNet-50 on CIFAR-100, 200 epochs (2000: schedule.epochs=2000).
_base_ = './r50_cifar10_mocov3.py'

data = 'cifar100'
