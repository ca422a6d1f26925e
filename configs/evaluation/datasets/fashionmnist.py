# Fashion-MNIST at 28 pixels.
crop = dict(
    type='mmpretrain.RandomResizedCrop',
    scale=28,
    crop_ratio_range=(0.3, 1.0),
    backend='pillow',
    interpolation='bicubic',
)
flip = dict(type='RandomFlip', prob=0.5)
pack = dict(type='mmpretrain.PackInputs')
centre = [
    dict(type='mmpretrain.ResizeEdge', scale=32, edge='short', backend='pillow', interpolation='bicubic'),
    dict(type='mmpretrain.CenterCrop', crop_size=28),
]
views = dict(plain=dict(train=[crop, flip, pack], test=[*centre, pack]))
resize = 32
size = 28

images = dict(type='FashionMNIST', data_root=None)  # None: the Debian package's folder, else data/fashionmnist
splits = dict(train=dict(split='train'), test=dict(split='test'))
num_classes = 10
num_workers = 2
processes = 1
normalisation = dict(mean=[127.5, 127.5, 127.5], std=[127.5, 127.5, 127.5])  # to [-1, 1]
backbone = dict(  # of configs/patchmix/vit-xs4_fashionmnist.py
    type='ContrastiveViT',
    arch=dict(embed_dims=96, num_layers=4, num_heads=3, feedforward_channels=384),
    img_size=28,
    patch_size=4,
)
