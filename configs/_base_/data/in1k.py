# ImageNet-1K at 224 pixels.
_base_ = '../runtime.py'

data = dict(
    images=dict(type='ImageNet1K', data_root='data/imagenet'),
    size=224,
    resize=256,
    splits=dict(train=dict(split='train'), test=dict(split='val')),
    read=[dict(type='LoadImage')],
    files=True,
)
