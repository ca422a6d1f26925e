# Emoji as Google and Twitter draw them, on white at 32 pixels: tools/emoji.py writes the folder. Trained on without
# labels; drawings of held-out subcategories are classified by category.
_base_ = '../runtime.py'

data = dict(
    images=dict(type='mmpretrain.CustomDataset', data_root='data/emoji'),
    splits=dict(train=dict(ann_file='train.txt'), test=dict(ann_file='test.txt')),
    size=32,
    resize=32,
    read=[dict(type='LoadImage')],
    files=True,
    mean=[127.5] * 3,  # to [-1, 1]
    std=[127.5] * 3,
    views=dict(
        all=dict(crop=(0.4, 1.0), steps=['jitter_mild']),  # no flips: arrows and hands have sides
        view2=dict(steps=['jitter_mild', 'solarize']),
    ),
    workers=1,
    at_once=256,
)
evaluated = dict(
    classes=8,
    views=dict(plain=dict(crop=(0.4, 1.0), steps=[])),
    backbone=dict(  # ViT-XS/8
        type='ContrastiveViT',
        arch=dict(embed_dims=96, num_layers=4, num_heads=3, feedforward_channels=384),
        patch_size=8,
    ),
)
