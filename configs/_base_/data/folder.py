# Your own images at 224 pixels: any format, nested folders, no labels, so that nothing is measured.
_base_ = '../runtime.py'

data = dict(
    images=dict(type='ImageFolder', data_root='data/folder'),
    size=224,
    resize=256,
    splits=dict(),
    read=[dict(type='LoadImage')],
    files=True,
)
