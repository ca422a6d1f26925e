# CIFAR-10.
_base_ = '../_base_/views_32.py'

images = dict(type='mmpretrain.CIFAR10', data_root='data/cifar10', download=False)
splits = dict(train=dict(split='train'), test=dict(split='test'))
num_classes = 10
statistics = dict(mean=[125.307, 122.961, 113.8575], std=[51.5865, 50.847, 51.255])
processes = 1
backbone = dict(  # ViT-S/2
    type='ContrastiveViT',
    arch=dict(embed_dims=384, num_layers=12, num_heads=12, feedforward_channels=1536),
    img_size=32,
    patch_size=2,
)
