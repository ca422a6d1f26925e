# CIFAR-100.
_base_ = './cifar10.py'

images = dict(type='mmpretrain.CIFAR100', data_root='data/cifar100')
num_classes = 100
like = 'cifar10'
