# MoCo v3, ResNet-50 on CIFAR-100: batch 256, 200 epochs; the SGD rate of i-mix (SDMP gives no recipe).
_base_ = './r50_cifar10.py'

data = 'cifar100'
