# CIFAR-100 at 32 pixels: as CIFAR-10.
_base_ = './cifar10.py'

data = dict(images=dict(type='mmpretrain.CIFAR100', data_root='data/cifar100'))
evaluated = dict(
    classes=100, own=dict(mean=[129.3105, 124.1085, 112.404], std=[68.2125, 65.4075, 70.4055]), like='cifar10'
)
