# i-mix on MoCo v3, ResNet-50 on CIFAR-100.
_base_ = './r50_cifar10_mocov3.py'

data = 'cifar100'
