# MoCo v3, ResNet-101 on CIFAR-100: batch 256, 200 epochs; the SGD rate of i-mix (SDMP gives no recipe).
_base_ = './r101_cifar10.py'

data = 'cifar100'
