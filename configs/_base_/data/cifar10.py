# CIFAR-10 at 32 pixels.
_base_ = '../runtime.py'

data = dict(
    images=dict(type='mmpretrain.CIFAR10', data_root='data/cifar10', download=False),
    size=32,
    resize=36,
    read=[dict(type='RGBToBGR')],
    at_once=512,
)
