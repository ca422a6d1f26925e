# The steps that make the views of all methods.

# The first and the last step of a pipeline, and the crop; data sets of another size change them.
load = dict(type='LoadImage')
crop = dict(type='mmpretrain.RandomResizedCrop', scale=224, backend='pillow', interpolation='bicubic')
pack = dict(type='mmpretrain.PackInputs')
evaluation_pipeline = [
    load,
    dict(type='mmpretrain.ResizeEdge', scale=256, edge='short', backend='pillow', interpolation='bicubic'),
    dict(type='mmpretrain.CenterCrop', crop_size=224),
    pack,
]

# Steps after the crop (a flip may also come before it), by method. All draw from generators seeded by the view's key.
flip = dict(type='RandomFlip', prob=0.5)
gray = dict(type='RandomGrayscale', prob=0.2, keep_channels=True, channel_weights=(0.114, 0.587, 0.2989))  # BGR
blur_often, blur_rarely, blur_half = [
    dict(type='mmpretrain.GaussianBlur', magnitude_range=(0.1, 2.0), magnitude_std='inf', prob=prob)
    for prob in (1.0, 0.1, 0.5)
]
jitter_mild, jitter_strong, jitter_always_strong_hue, jitter_very_strong = [
    dict(
        type='RandomApply',
        prob=prob,
        transforms=dict(
            type='mmpretrain.ColorJitter',
            brightness=strength,
            contrast=strength,
            saturation=saturation,
            hue=hue,
            backend='pillow',
        ),
    )
    for prob, strength, saturation, hue in [
        (0.8, 0.4, 0.2, 0.1),
        (0.8, 0.4, 0.4, 0.1),
        (1.0, 0.4, 0.4, 0.4),
        (0.8, 0.8, 0.8, 0.2),
    ]
]
solarize = dict(type='mmpretrain.Solarize', thr=128, prob=0.2)
# BYOL, MoCo v3, PatchMix, SDMP, DINO, APS: the two views differ in how often they blur and solarise.
byol_steps = [
    [jitter_mild, gray, blur_often, flip],
    [jitter_mild, gray, blur_rarely, solarize, flip],
]
local_steps = [jitter_mild, gray, blur_half, flip]  # for local crops
mocov2_steps = [jitter_strong, gray, blur_half, flip]  # also MixCo, SimSiam
mocov1_steps = [gray, jitter_always_strong_hue, flip]
simclr_steps = [flip, jitter_very_strong, gray, blur_half]
cifar_steps = [flip, jitter_strong, gray]  # APS and i-mix on CIFAR
