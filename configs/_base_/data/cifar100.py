# CIFAR-100 at 32 pixels: as CIFAR-10.
_base_ = './cifar10.py'

data = dict(images=dict(type='mmpretrain.CIFAR100', data_root='data/cifar100'))
