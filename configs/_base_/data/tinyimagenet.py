# TinyImageNet, enlarged to 224 pixels (MixCo).
_base_ = '../runtime.py'

data = dict(
    images=dict(type='TinyImageNet', data_root='data/tiny-imagenet-200'),
    size=224,
    resize=256,
    splits=dict(train=dict(split='train'), test=dict(split='val')),
    read=[dict(type='LoadImage')],
    files=True,
    at_once=64,
)
