# Fashion-MNIST at 28 pixels. The images are grey and small, so no step changes colours or blurs.
_base_ = '../runtime.py'

data = dict(
    images=dict(type='FashionMNIST', data_root=None),  # None: the Debian package's folder, else data/fashionmnist
    size=28,
    resize=32,
    mean=[127.5] * 3,  # to [-1, 1]
    std=[127.5] * 3,
    views=dict(
        all=dict(crop=(0.3, 1.0), interpolation='bicubic', steps=['jitter_light', 'flip']),
        view2=dict(steps=['jitter_light', 'solarize', 'flip']),
    ),
    workers=2,
    at_once=256,
)
evaluated = dict(
    classes=10,
    views=dict(plain=dict(crop=(0.3, 1.0))),
    backbone=dict(  # of configs/patchmix/vit-xs4_fashionmnist.py
        type='ContrastiveViT',
        arch=dict(embed_dims=96, num_layers=4, num_heads=3, feedforward_channels=384),
        patch_size=4,
    ),
)
