# Barlow Twins, ResNet-18 on CIFAR-100, as the host of mixed Barlow Twins.
_base_ = './r18_cifar10.py'

data = 'cifar100'
