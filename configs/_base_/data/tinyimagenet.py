# TinyImageNet, enlarged to 224 pixels (MixCo).
_base_ = '../photos.py'

data = dict(
    images=dict(type='TinyImageNet', data_root='data/tiny-imagenet-200'),
    splits=dict(train=dict(split='train'), test=dict(split='val')),
    at_once=64,
)
evaluated = dict(classes=200, backbone=dict(_delete_=True, type='mmpretrain.ResNet', depth=18))
