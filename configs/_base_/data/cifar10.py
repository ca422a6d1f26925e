# CIFAR-10 at 32 pixels.
_base_ = '../runtime.py'

data = dict(
    images=dict(type='mmpretrain.CIFAR10', data_root='data/cifar10', download=False),
    size=32,
    resize=36,
    read=[dict(type='RGBToBGR')],
    at_once=512,
)
evaluated = dict(
    classes=10,
    own=dict(mean=[125.307, 122.961, 113.8575], std=[51.5865, 50.847, 51.255]),
    views=dict(
        # resized as torchvision does by default, tested on the images as they are: MoCo v3, SDMP
        bilinear=dict(interpolation='bilinear', resize=None),
        randaugment=dict(
            crop=None,
            steps=[dict(type='mmpretrain.RandomCrop', crop_size=32, padding=4), 'flip', 'randaugment', 'erasing'],
            resize=None,
        ),
        # for ResNets with the stem for large images, as MixCo transfers to CIFAR
        enlarged=dict(size=224, resize=256, interpolation='bilinear'),
    ),
    backbone=dict(  # ViT-S/2
        type='ContrastiveViT',
        arch=dict(embed_dims=384, num_layers=12, num_heads=12, feedforward_channels=1536),
        patch_size=2,
    ),
)
