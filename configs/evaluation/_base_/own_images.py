# Your own images (--data folder:PATH and the like); the images and their classes are filled in.
_base_ = './views_224.py'

splits = dict(train=dict(split='train'), test=dict(split='test'))
files = True  # images are files, which may be unreadable
processes = 1
backbone = dict(  # ViT-S/16
    type='ContrastiveViT',
    arch=dict(embed_dims=384, num_layers=12, num_heads=12, feedforward_channels=1536),
    img_size=224,
    patch_size=16,
)
