# Prepares CIFAR's images. A recipe names one of the views; all data sets have 'plain'.
_base_ = './augmentations.py'


def crop(scale, interpolation):
    return dict(
        type='mmpretrain.RandomResizedCrop',
        scale=scale,
        crop_ratio_range=(0.08, 1.0),
        backend='pillow',
        interpolation=interpolation,
    )


def centre(resize, size, interpolation):
    return [
        turn,
        dict(type='mmpretrain.ResizeEdge', scale=resize, edge='short', backend='pillow', interpolation=interpolation),
        dict(type='mmpretrain.CenterCrop', crop_size=size),
        pack,
    ]


turn = dict(type='RGBToBGR')
flip = dict(type='RandomFlip', prob=0.5)
pack = dict(type='mmpretrain.PackInputs')
shift = dict(type='mmpretrain.RandomCrop', crop_size=32, padding=4)

views = dict(
    plain=dict(train=[turn, crop(32, 'bicubic'), flip, pack], test=centre(36, 32, 'bicubic')),
    # resized as torchvision does by default, tested on the images as they are: MoCo v3, SDMP
    bilinear=dict(train=[turn, crop(32, 'bilinear'), flip, pack], test=[turn, pack]),
    randaugment=dict(train=[turn, shift, flip, _base_.randaugment, _base_.erasing, pack], test=[turn, pack]),
    # for ResNets with the stem for large images, as MixCo transfers to CIFAR
    enlarged=dict(train=[turn, crop(224, 'bilinear'), flip, pack], test=centre(256, 224, 'bilinear')),
)
resize = 36
size = 32
