# scikit-learn's digits at 16 pixels: small enough for a laptop. Flips, hue and blur would change what they show.
_base_ = '../runtime.py'

data = dict(
    images=dict(type='Digits'),
    size=16,
    # enlarged before the crop, which would otherwise cut the 8x8 images at whole pixels
    read=[dict(type='mmpretrain.ResizeEdge', scale=16, edge='short', backend='pillow', interpolation='bicubic')],
    mean=[127.5] * 3,  # to [-1, 1]
    std=[127.5] * 3,
    views=dict(
        all=dict(crop=(0.5, 1.0), interpolation='bicubic', steps=['jitter_light']),
        view2=dict(steps=['jitter_light', 'solarize']),
    ),
    workers=2,
)
evaluated = dict(
    classes=10,
    views=dict(plain=dict(crop=(0.5, 1.0), steps=[])),
    backbone=dict(  # of the quick start
        type='ContrastiveViT',
        arch=dict(embed_dims=96, num_layers=4, num_heads=3, feedforward_channels=384),
        patch_size=4,
    ),
)
