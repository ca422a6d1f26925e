# Images with masks of classes: your own, images/ beside masks/, with one grey level for each class (255: none).
_base_ = '../runtime.py'

data = dict(
    images=dict(type='MaskedFolder', data_root='data/masks'),
    size=512,
    read=[dict(type='LoadImage'), dict(type='LoadMask')],
)
evaluated = dict(
    classes=2,
    protocols=['segment'],
    views=dict(plain=dict(crop=None, steps=[dict(type='MaskedCrop')])),
    pack=dict(algorithm_keys=('gt_classes',)),
    backbone=dict(
        type='ContrastiveViT',
        arch=dict(embed_dims=384, num_layers=12, num_heads=12, feedforward_channels=1536),
        patch_size=16,
    ),
)
