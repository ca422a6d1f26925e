# CIFAR-100.
_base_ = './cifar10.py'

images = dict(type='mmpretrain.CIFAR100', data_root='data/cifar100')
num_classes = 100
statistics = dict(mean=[129.3105, 124.1085, 112.404], std=[68.2125, 65.4075, 70.4055])
like = 'cifar10'
