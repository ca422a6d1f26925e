# Prepares photographs at 224 pixels. A recipe names one of the views; all data sets have 'plain'.
_base_ = './augmentations.py'


def crop(interpolation):
    return dict(
        type='mmpretrain.RandomResizedCrop',
        scale=224,
        crop_ratio_range=(0.08, 1.0),
        backend='pillow',
        interpolation=interpolation,
    )


def centre(interpolation):
    return [
        load,
        dict(type='mmpretrain.ResizeEdge', scale=256, edge='short', backend='pillow', interpolation=interpolation),
        dict(type='mmpretrain.CenterCrop', crop_size=224),
        pack,
    ]


load = dict(type='LoadImage')
flip = dict(type='RandomFlip', prob=0.5)
pack = dict(type='mmpretrain.PackInputs')
jitter = dict(type='mmpretrain.ColorJitter', brightness=0.4, contrast=0.4, saturation=0.4, backend='pillow')

views = dict(
    plain=dict(train=[load, crop('bicubic'), flip, pack], test=centre('bicubic')),
    # as torchvision resizes by default: MoCo v3, SDMP, MixCo, BSIM, SimSiam
    bilinear=dict(train=[load, crop('bilinear'), flip, pack], test=centre('bilinear')),
    # DINO's linear probe
    bilinear_bicubic=dict(train=[load, crop('bilinear'), flip, pack], test=centre('bicubic')),
    # BSIM's five depths: colour jitter and AlexNet's lighting noise
    jitter=dict(
        train=[load, crop('bilinear'), flip, jitter, dict(type='ColourNoise', deviation=0.1), pack],
        test=centre('bilinear'),
    ),
    randaugment=dict(
        train=[load, crop('bicubic'), flip, _base_.randaugment, _base_.erasing, pack], test=centre('bicubic')
    ),
)
resize = 256
size = 224
