# scikit-learn's digits at 16 pixels. A flip would change what they show.
enlarge = dict(type='mmpretrain.ResizeEdge', scale=16, edge='short', backend='pillow', interpolation='bicubic')
crop = dict(
    type='mmpretrain.RandomResizedCrop',
    scale=16,
    crop_ratio_range=(0.5, 1.0),
    backend='pillow',
    interpolation='bicubic',
)
pack = dict(type='mmpretrain.PackInputs')
views = dict(plain=dict(train=[enlarge, crop, pack], test=[enlarge, pack]))
resize = size = 16

images = dict(type='Digits')
splits = dict(train=dict(split='train'), test=dict(split='test'))
num_classes = 10
num_workers = 2
processes = 1
normalisation = dict(mean=[127.5, 127.5, 127.5], std=[127.5, 127.5, 127.5])  # to [-1, 1]
backbone = dict(  # of the quick start
    type='ContrastiveViT',
    arch=dict(embed_dims=96, num_layers=4, num_heads=3, feedforward_channels=384),
    img_size=16,
    patch_size=4,
)
